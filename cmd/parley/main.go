package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/seed38e7925c/parley/consent"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], &streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(code)
}

// streams are what a command reads and writes: results on out, everything for people on err.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// commands is the command line.
type commands struct {
	Demo       demoCmd       `cmd:"" help:"You log in, a host calls a tool, the server asks you two things, the tool finishes. Self-contained: nothing leaves this computer."`
	Ls         lsCmd         `cmd:"" help:"List what a server offers: tools with their arguments, resources, templates, prompts."`
	Call       callCmd       `cmd:"" help:"Call a tool and print its result."`
	Read       readCmd       `cmd:"" help:"Read a resource and print its contents."`
	Prompt     promptCmd     `cmd:"" help:"Fetch a prompt and print its messages."`
	Login      loginCmd      `cmd:"" help:"Log in at a server, before it demands that."`
	Logout     logoutCmd     `cmd:"" help:"End a login, or all of them: here, and at the authorization server."`
	Whoami     whoamiCmd     `cmd:"" help:"Say who is logged in at a server, and what the server demands; without a server, list all logins."`
	Vault      vaultCmd      `cmd:"" help:"For operators: what a server keeps for people, and its keys."`
	Connect    connectCmd    `cmd:"" help:"For operators: housekeeping of a server's pages."`
	Version    versionCmd    `cmd:"" help:"Print the version of this program and the revisions of the protocol that it speaks."`
	DemoServer demoServerCmd `cmd:"" hidden:"" name:"demo-server" help:"The server of the demo, over standard input and output."`
}

const description = `Parley speaks the Model Context Protocol: it lists, calls and reads what servers offer, and lets their questions be answered here.

TARGET is the URL of a server (https://host/mcp) or "stdio:" and a command line (stdio:npx -y some-server).

` + exitHelp

// quit is how kong asks for the end of the program, for --help.
type quit int

// run runs one command line and returns the exit code.
func run(ctx context.Context, args []string, s *streams) (code int) {
	defer func() {
		if q, ok := recover().(quit); ok {
			code = int(q)
		}
	}()
	var cmds commands
	parser, err := kong.New(&cmds, kong.Name("parley"), kong.Description(description), kong.Writers(s.out, s.err),
		kong.Exit(func(code int) { panic(quit(code)) }), kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(s))
	if err != nil {
		fmt.Fprintln(s.err, "parley:", err)
		return exitUsage
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	c, err := parser.Parse(args)
	if err != nil {
		text := err.Error()
		var wrong *kong.ParseError
		if unknown, ok := strings.CutPrefix(text, "unexpected argument "+args[0]); ok && errors.As(err, &wrong) && wrong.Context.Command() == "" {
			text = fmt.Sprintf("there is no command %q", args[0]) + unknown
		}
		fmt.Fprintf(s.err, "parley: %s\nRun \"parley --help\" or \"parley COMMAND --help\" to see what there is.\n", ownLine(text))
		return exitUsage
	}
	err = c.Run()
	var silent *silentError
	if err != nil && !errors.As(err, &silent) {
		fmt.Fprintf(s.err, "parley: %s\n", ownLine(explain(err)))
	}
	return exitCode(ctx, err)
}

// ownLine makes an error safe to display. Its lines but the first are indented: they may be a server's, who must not seem to be us.
func ownLine(text string) string {
	lines := strings.Split(strings.TrimSpace(consent.Text(text, 20_000)), "\n")
	for i := range lines {
		if i > 0 && !strings.HasPrefix(lines[i], "  ") {
			lines[i] = "  " + lines[i]
		}
	}
	return strings.Join(lines, "\n")
}
