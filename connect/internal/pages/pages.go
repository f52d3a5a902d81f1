package pages

import "time"

// A Page is one of the pages of this package.
type Page interface {
	template() string
}

// A Kind is what a person is asked for.
type Kind string

// The kinds, as the texts name them.
const (
	Secret   Kind = "secret"   // something to type, such as an API key
	Grant    Kind = "grant"    // access at a third party
	Approval Kind = "approval" // a yes to one action
	Custom   Kind = "custom"   // a page of the server's author
)

// A Frame is around every page.
type Frame struct {
	Server   string // the name of the server, as its author gives it
	Base     string // path of the desk, with a slash at both ends
	Person   string // who is signed in, to show; empty when nobody is
	CSRF     string // the token of the forms that this page has beside its own
	Sessions bool   // whether there is something to sign out of, and pages of the person's own
}

// An Interaction asks a person for something.
type Interaction struct {
	Kind    Kind
	Title   string // the secret, the provider, the action or the page, in the author's words
	Reason  string // why it is needed, in the author's words; may be empty
	Client  string // what the client calls itself; may be empty
	Tool    string // the tool whose call needs it
	Account string // for which account of the server, to show

	Expires time.Time // when the interaction is over
	Now     time.Time // when the page is made

	Fields  []Field  // Secret
	Help    *Link    // Secret: where to find it; may be nil
	Host    string   // Grant and Custom: where the person goes on, the host as consent shows it
	Scopes  []Scope  // Grant
	Details []Detail // Approval

	Action string // path of the form
	CSRF   string
	Error  string // why the last attempt did not count; in the reader's language already
}

func (*Interaction) template() string { return "interaction" }

// Minutes returns how many minutes are left.
func (i *Interaction) Minutes() int { return max(0, int(i.Expires.Sub(i.Now)/time.Minute)) }

// A Field is one thing to type.
type Field struct {
	Name      string
	Label     string
	Help      string
	Error     string
	Plain     bool   // shown while it is typed; everything else is hidden
	Value     string // of a plain field that is shown again; hidden ones are never sent back
	Optional  bool
	MaxLength int
}

// A Link is an address with the host that is shown for it.
type Link struct{ URL, Host string }

// A Scope is one access that a provider is asked for.
type Scope struct{ Name, Description string }

// A Detail is one line of an action.
type Detail struct{ Label, Value string }

// A Message ends a visit. Its Name chooses the words.
type Message struct {
	Name    MessageName
	Kind    Kind   // of the interaction, where there is one
	Client  string // where to return to; may be empty
	Account string // Done of a Grant: which account was connected; may be empty
}

func (*Message) template() string { return "message" }

// A MessageName names a message.
type MessageName string

// The messages.
const (
	Done        MessageName = "done"
	Declined    MessageName = "declined"
	Expired     MessageName = "expired"
	WrongPerson MessageName = "wrong"
	Attempts    MessageName = "attempts"
	NotFound    MessageName = "notfound"
	Failed      MessageName = "failed"
	Refused     MessageName = "refused" // a form of another page, or without its token
	SignedOut   MessageName = "signedout"
)

// A SignIn sends a person to where they sign in.
type SignIn struct {
	Host   string // where that is
	Action string // path of the form
	CSRF   string
	Back   string // value of the field "back": the path to come back to
	Own    bool   // it is for pages of the person's own, not for a request
}

func (*SignIn) template() string { return "signin" }

// A Code asks for the code that a client has shown.
type Code struct {
	Action string
	CSRF   string
	Wrong  bool // a wrong one was typed
	Left   int  // attempts that are left
}

func (*Code) template() string { return "code" }

// Connections lists what is stored for a person.
type Connections struct {
	List []Connection
	CSRF string
}

func (*Connections) template() string { return "connections" }

// A Connection is a stored secret or grant.
type Connection struct {
	Title    string
	Kind     Kind
	Account  string // at the provider; may be empty
	Scopes   []string
	Tools    []string
	Since    time.Time
	LastUsed time.Time // zero: never
	Reauth   bool      // no longer valid
	Action   string    // path of the form that removes it
}

// Audit lists what happened.
type Audit struct {
	Entries []Entry
	Days    int    // how long entries are kept
	Older   string // path of the next page; empty on the last
}

func (*Audit) template() string { return "audit" }

// An Entry is one event.
type Entry struct {
	When   time.Time
	Event  string // such as "completed": the texts have a word for it
	Title  string // what it was about
	Tool   string
	Client string
}
