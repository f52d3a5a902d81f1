package mcp

import (
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"unsafe"
)

// The parts of the Windows API for jobs that package syscall lacks.
var (
	kernel32                 = syscall.NewLazyDLL("kernel32.dll")
	createJobObject          = kernel32.NewProc("CreateJobObjectW")
	setInformationJobObject  = kernel32.NewProc("SetInformationJobObject")
	assignProcessToJobObject = kernel32.NewProc("AssignProcessToJobObject")
	terminateJobObject       = kernel32.NewProc("TerminateJobObject")
)

const (
	jobObjectExtendedLimitInformation = 9
	jobObjectLimitKillOnJobClose      = 0x2000
	processSetQuota                   = 0x0100
	processTerminate                  = 0x0001
)

// jobLimits is JOBOBJECT_EXTENDED_LIMIT_INFORMATION.
type jobLimits struct {
	perProcessUserTimeLimit int64
	perJobUserTimeLimit     int64
	limitFlags              uint32
	minimumWorkingSetSize   uintptr
	maximumWorkingSetSize   uintptr
	activeProcessLimit      uint32
	affinity                uintptr
	priorityClass           uint32
	schedulingClass         uint32
	ioInfo                  [6]uint64
	processMemoryLimit      uintptr
	jobMemoryLimit          uintptr
	peakProcessMemoryUsed   uintptr
	peakJobMemoryUsed       uintptr
}

// A processGroup is a process with all its children: on Windows a job whose processes end when its handle is closed, be it by the
// death of this process.
type processGroup struct {
	job  syscall.Handle
	once sync.Once
}

// prepare starts the process without a console window and in a console group of its own.
func (g *processGroup) prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{HideWindow: true, CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// started puts the process into a job, before it was told anything.
func (g *processGroup) started(cmd *exec.Cmd) error {
	job, _, err := createJobObject.Call(0, 0)
	if job == 0 {
		return fmt.Errorf("CreateJobObject: %w", err)
	}
	g.job = syscall.Handle(job)
	limits := jobLimits{limitFlags: jobObjectLimitKillOnJobClose}
	ok, _, err := setInformationJobObject.Call(job, jobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), unsafe.Sizeof(limits))
	if ok == 0 {
		return errors.Join(fmt.Errorf("SetInformationJobObject: %w", err), g.close())
	}
	h, err := syscall.OpenProcess(processSetQuota|processTerminate, false, uint32(cmd.Process.Pid))
	if err != nil {
		return errors.Join(fmt.Errorf("OpenProcess: %w", err), g.close())
	}
	defer syscall.CloseHandle(h) //nolint:errcheck // a handle of ours
	if ok, _, err := assignProcessToJobObject.Call(job, uintptr(h)); ok == 0 {
		return errors.Join(fmt.Errorf("AssignProcessToJobObject: %w", err), g.close())
	}
	return nil
}

// terminate does nothing: Windows has no way to ask a process without a window or a shared console to end. Closing its input was the
// request.
func (g *processGroup) terminate(*exec.Cmd) error { return nil }

// kill ends every process of the job.
func (g *processGroup) kill(*exec.Cmd) error {
	var err error
	g.once.Do(func() {
		if ok, _, callErr := terminateJobObject.Call(uintptr(g.job), 1); ok == 0 {
			err = fmt.Errorf("TerminateJobObject: %w", callErr)
		}
		err = errors.Join(err, g.close())
	})
	return err
}

func (g *processGroup) close() error { return syscall.CloseHandle(g.job) }
