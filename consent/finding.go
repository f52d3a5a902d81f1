package consent

import "fmt"

// Severity says how a finding should be treated.
type Severity uint8

const (
	// Info is worth knowing and no reason for concern: another site than the server's own, an address on this computer.
	Info Severity = iota + 1
	// Warning is unusual. The person should look twice.
	Warning
	// Danger is a known trick. A host should ask once more, and never offer it as the default.
	Danger
	// Refusal must never be opened; no consent changes that.
	Refusal
)

// String returns the severity in lower case.
func (s Severity) String() string {
	switch s {
	case Info:
		return "info"
	case Warning:
		return "warning"
	case Danger:
		return "danger"
	case Refusal:
		return "refusal"
	default:
		return fmt.Sprintf("severity %d", uint8(s))
	}
}

// Code names a kind of finding for programs. New codes may be added.
type Code string

// Codes of findings. The first group is always a Refusal.
const (
	CodeMalformed    Code = "malformed"     // not a URL, or not one that programs agree on
	CodeTooLong      Code = "too-long"      // longer than Options.MaxLength
	CodeCharacters   Code = "characters"    // control, bidirectional, zero-width or white-space characters
	CodeBackslash    Code = "backslash"     // a backslash, which browsers read as a slash
	CodeDash         Code = "dash"          // begins with '-', which programs take for an option
	CodeScheme       Code = "scheme"        // not https, nor http to this computer
	CodeNoHost       Code = "no-host"       // names no host
	CodeUserinfo     Code = "userinfo"      // a name or password before the host: https://bank.example@evil.example
	CodeEncodedHost  Code = "encoded-host"  // percent-encoding in the host
	CodeHost         Code = "host"          // no valid host name
	CodeTrailingDot  Code = "trailing-dot"  // the host ends with a dot
	CodeDisguisedIP  Code = "disguised-ip"  // an IP address in another form: 127.1, 0x7f.1, 2130706433, [::ffff:10.0.0.1]
	CodeZone         Code = "zone"          // an IPv6 address with a zone
	CodeForbiddenIP  Code = "forbidden-ip"  // link-local (cloud metadata among it), multicast, unspecified or reserved
	CodeMetadataHost Code = "metadata-host" // a name of a cloud's metadata service
	CodePort         Code = "port"          // no port number

	CodeIP            Code = "ip"             // the host is an IP address
	CodePrivate       Code = "private"        // an address or name of a private network
	CodeLoopback      Code = "loopback"       // this computer
	CodeOddPort       Code = "odd-port"       // another port than the scheme's
	CodePunycode      Code = "punycode"       // a name outside ASCII, shown as xn--…
	CodeMappedHost    Code = "mapped-host"    // spelled with other characters than the name it leads to
	CodeMixedScripts  Code = "mixed-scripts"  // letters of several scripts within a label
	CodeImitation     Code = "imitation"      // letters of another script that look like Latin ones
	CodeLookalike     Code = "lookalike"      // looks like a trusted domain and is none
	CodeTrustedPrefix Code = "trusted-prefix" // a trusted domain's name in front of another domain
	CodeSuffix        Code = "suffix"         // a public suffix itself: no owner can be told
	CodeLong          Code = "long"           // so long that its end is easily overlooked
	CodeOtherSite     Code = "other-site"     // another site than the server's own
)

// Finding is one thing that a person, or a program that decides for one, should know about a URL.
type Finding struct {
	Code     Code
	Severity Severity
	// Message is a sentence for the person. It is safe to display: it holds no text from the URL but ASCII host names.
	Message string
}

// String returns the severity and the message.
func (f Finding) String() string { return f.Severity.String() + ": " + f.Message }
