package load

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"syscall"
	"time"

	"github.com/seed38e7925c/parley/bench/internal/peer"
)

// fan is the client's side of many streams: sockets outside of Go's poller and one loop, so that what is measured is the server.
type fan struct {
	poll  int
	socks []int
	heard map[int32]int // the round in which a socket last heard
	round int
	buf   []byte
}

func openFan(host string, requests [][]byte) (*fan, error) {
	poll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := &fan{poll: poll, heard: make(map[int32]int, len(requests)), buf: make([]byte, 64<<10)}
	to, err := netip.ParseAddrPort(host)
	if err != nil {
		return nil, err
	}
	for _, request := range requests {
		if err := f.add(to, request); err != nil {
			f.close()
			return nil, err
		}
	}
	return f, nil
}

// add opens one stream and waits until the server says that it is open.
func (f *fan) add(to netip.AddrPort, request []byte) error {
	s, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	f.socks = append(f.socks, s)
	if err := syscall.Connect(s, &syscall.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}); err != nil {
		return err
	}
	if _, err := syscall.Write(s, request); err != nil {
		return err
	}
	mode := peer.Modern
	if bytes.HasPrefix(request, []byte("GET ")) {
		mode = peer.Stateful
	}
	for n, open := 0, false; !open; {
		m, err := syscall.Read(s, f.buf[n:])
		if err != nil || m == 0 {
			return fmt.Errorf("a stream ended after %q: %w", f.buf[:n], err)
		}
		n += m
		if open, err = opened(mode, f.buf[:n]); err != nil {
			return err
		}
	}
	return syscall.EpollCtl(f.poll, syscall.EPOLL_CTL_ADD, s, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(s)})
}

const fanLimit = 10 * time.Second

// wait reads until every stream has said what, and returns when the last one did.
func (f *fan) wait(what []byte) (last time.Time, err error) {
	f.round++
	left, begin := len(f.socks), time.Now()
	events := make([]syscall.EpollEvent, 256)
	for left > 0 {
		if time.Since(begin) > fanLimit {
			return last, fmt.Errorf("%d of %d streams were not told within %v", left, len(f.socks), fanLimit)
		}
		n, err := syscall.EpollWait(f.poll, events, 100)
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return last, err
		}
		for _, e := range events[:max(n, 0)] {
			m, err := syscall.Read(int(e.Fd), f.buf)
			if err != nil || m == 0 {
				return last, fmt.Errorf("a stream ended: %w", err)
			}
			if f.heard[e.Fd] != f.round && bytes.Contains(f.buf[:m], what) {
				f.heard[e.Fd] = f.round
				left--
				last = time.Now()
			}
		}
	}
	return last, nil
}

func (f *fan) close() {
	for _, s := range f.socks {
		_ = syscall.Close(s) // only read from
	}
	_ = syscall.Close(f.poll) // nothing is lost
}
