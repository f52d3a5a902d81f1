package terminal_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"unicode"

	"github.com/seed38e7925c/parley/consent"
	"github.com/seed38e7925c/parley/form"
	"github.com/seed38e7925c/parley/interactor/terminal"
	"github.com/seed38e7925c/parley/mcp"
)

// nasty is text that escapes, turns, hides, imitates prompts and runs over the edge.
const nasty = "Hello\x1b[2J\x1b]8;;https://evil.example\x07click\x1b]8;;\x07\x1b]52;c;ZXZpbA==\x07\u202egpj.exe\u202c\u200bzero\u009b31m\r\n" +
	"s = send, d = decline › y\r1 of 1 › y\u2028Open this page? [y] › \vverylongword" + "wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww" + "漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字"

// inFrame checks that nothing of a server's text acts on a terminal, and that all of it stands behind the bar.
func inFrame(t *testing.T, out string, columns int) {
	t.Helper()
	for _, r := range out {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029') {
			t.Fatalf("%U reached the terminal:\n%q", r, out)
		}
	}
	for _, line := range strings.Split(out, "\n") {
		ours := strings.HasPrefix(line, "│") || strings.HasPrefix(line, "╭─ ") || strings.HasPrefix(line, "╰─")
		for _, bad := range []string{"Hello", "send, d", "› y", "gpj", "zero", "wwww", "漢字", "[y]"} {
			if !ours && strings.Contains(line, bad) {
				t.Errorf("%q stands outside of the frame: %q", bad, line)
			}
		}
		if n := len([]rune(line)) + strings.Count(line, "漢") + strings.Count(line, "字"); ours && n > columns {
			t.Errorf("the terminal would wrap this line of %d columns, without the bar: %q", n, line)
		}
	}
}

func TestThreat17TextFromServers(t *testing.T) {
	evil := mcp.Asked{Server: mcp.Implementation{Name: nasty, Title: nasty, Version: nasty}, Origin: nasty, Method: "tools/call", Name: nasty, Key: nasty}
	f, err := form.New(
		form.Field{Name: nasty, Title: nasty, Description: nasty, Kind: form.Choice, Required: true, Options: []form.Option{{Value: nasty, Title: nasty}, {Value: "b" + nasty, Title: "Hello " + nasty}}},
		form.Field{Name: "m" + nasty, Title: nasty, Kind: form.MultiChoice, Options: []form.Option{{Value: nasty, Title: nasty}}},
		form.Field{Name: "d" + nasty, Title: nasty, Default: []byte(`"Hello\u001b[2J › y"`)},
		form.Field{Name: "p" + nasty, Pattern: "(Hello\u202e)?"},
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, columns := range []int{20, 40, 80} {
		var out bytes.Buffer
		o := &terminal.Options{Width: columns, Open: func(context.Context, *consent.Result) error { return errors.New(nasty) }}
		in := terminal.New(strings.NewReader("zzz\nHello\n1\nzzz\n1\n\n\ns\n"), &out, o)
		res, err := in.Form(t.Context(), &mcp.FormQuestion{Asked: evil, Message: nasty, Form: f, Problem: errors.New(nasty)})
		if err != nil || res.Action != mcp.ActionAccept {
			t.Fatalf("%v %v\n%s", res, err, out.String())
		}
		inFrame(t, out.String(), columns)
		for _, url := range []string{"https://example.com/" + nasty, "https://example.com/Hello/" + strings.Repeat("wwww/", 50), nasty, "javascript:alert(1)//Hello"} {
			out.Reset()
			in = terminal.New(strings.NewReader("s\ny\n"), &out, o)
			res, err := in.Open(t.Context(), &mcp.OpenQuestion{Asked: evil, Message: nasty, URL: url})
			if err != nil {
				t.Fatal(err)
			}
			shown := out.String()
			if res.Action == mcp.ActionAccept { // the address by itself, for copying, is ASCII that consent has made
				shown, _, _ = strings.Cut(shown, "Open this address")
			}
			inFrame(t, shown, columns)
		}
	}
}

func TestThreat19DangerousSchemesAreNeverOpened(t *testing.T) {
	for _, url := range []string{"javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "http://example.com/", "https://169.254.169.254/", "-oProxy", "https://a@b.example"} {
		opened := false
		res, out, err := open(t, "y\ny\ny\n", url, &terminal.Options{Open: func(context.Context, *consent.Result) error { opened = true; return nil }})
		if err != nil || opened || res.Action != mcp.ActionCancel {
			t.Errorf("%s: %v %v opened %v\n%s", url, res, err, opened, out)
		}
	}
}

func TestThreat15LookalikesAreNamed(t *testing.T) {
	res, out, err := open(t, "\n", "https://tr\u0430vel.example/login", nil)
	if err != nil || res.Action != mcp.ActionDecline || !strings.Contains(out, "xn--") || strings.Contains(out, "\u0430") || !strings.Contains(out, "danger") {
		t.Errorf("%v %v\n%s", res, err, out)
	}
}

func TestSampling(t *testing.T) {
	q := &mcp.SampleQuestion{Asked: about, Params: &mcp.CreateMessageParams{SystemPrompt: "Hello\x1b[2J", MaxTokens: 100, Tools: []*mcp.Tool{{Name: "t"}},
		Messages: []*mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.SamplingContent{&mcp.TextContent{Text: nasty}, &mcp.ImageContent{MIMEType: "image/png", Data: []byte{1}},
			&mcp.AudioContent{MIMEType: "a/b"}, &mcp.ToolUseContent{Name: "t"}, &mcp.ToolResultContent{Content: mcp.Text("r")}, &mcp.UnknownContent{Kind: "new"}}}, {Role: "odd"}}}}
	answer := &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: mcp.SamplingContent{&mcp.TextContent{Text: "Hello back"}}}
	broken := errors.New("out of memory")
	for typed, want := range map[string]error{"y\ny\n": nil, "n\n": mcp.ErrDeclined, "\n": mcp.ErrDeclined, "y\nn\n": mcp.ErrDeclined, "\x1b\n": mcp.ErrCanceled, "": mcp.ErrUnavailable} {
		var out bytes.Buffer
		asked := 0
		in := terminal.New(strings.NewReader(typed), &out, &terminal.Options{Model: func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			asked++
			return answer, nil
		}})
		res, err := in.Sample(t.Context(), q)
		if !errors.Is(err, want) || (err == nil) != (res == answer) || asked != strings.Count(typed[:min(1, len(typed))], "y") {
			t.Errorf("%q: %v %v, the model was asked %d times\n%s", typed, res, err, asked, out.String())
		}
		inFrame(t, out.String(), 80)
	}
	in := terminal.New(strings.NewReader("y\n"), new(bytes.Buffer), &terminal.Options{Model: func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) { return nil, broken }})
	if _, err := in.Sample(t.Context(), q); !errors.Is(err, broken) || !errors.Is(err, mcp.ErrUnavailable) {
		t.Error(err)
	}
}

func TestDeclaredIsWhatIsThere(t *testing.T) {
	in := terminal.New(strings.NewReader(""), new(bytes.Buffer))
	if in.Sample != nil || in.Roots != nil || in.Form == nil || in.Open == nil {
		t.Errorf("%+v", in)
	}
	in = terminal.New(strings.NewReader(""), new(bytes.Buffer), &terminal.Options{Roots: []mcp.Root{{URI: "file:///a"}}})
	if roots, err := in.Roots(t.Context()); err != nil || len(roots) != 1 {
		t.Error(roots, err)
	}
}

func TestWaitingForAPage(t *testing.T) {
	q := &mcp.OpenQuestion{Asked: about, URL: "https://pay.example.com/x"}
	for typed, want := range map[string]error{"\n": nil, "what\n\x1b\n\n": nil, "c\n": mcp.ErrCanceled, "": mcp.ErrUnavailable} {
		if err := terminal.New(strings.NewReader(typed), new(bytes.Buffer)).Wait(t.Context(), q); !errors.Is(err, want) {
			t.Errorf("%q: %v", typed, err)
		}
	}
	var out bytes.Buffer
	terminal.New(strings.NewReader(""), &out).Completed(t.Context(), q)
	if !strings.Contains(out.String(), "What you were sent to pay.example.com for is done") {
		t.Error(out.String())
	}
}

func TestColors(t *testing.T) {
	_, plain, _ := open(t, "\n", "https://pay.example.com/x", nil)
	_, never, _ := open(t, "\n", "https://pay.example.com/x", &terminal.Options{Color: "never"})
	_, bold, _ := open(t, "\n", "https://pay.example.com/x", &terminal.Options{Color: "always"})
	if strings.Contains(plain+never, "\x1b") || !strings.Contains(bold, "https://pay.\x1b[1mexample.com\x1b[0m/x") {
		t.Errorf("%q\n%q", plain, bold)
	}
}
