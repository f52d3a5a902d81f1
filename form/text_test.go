package form_test

import (
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/form"
)

func TestParseText(t *testing.T) {
	t.Parallel()
	options := []form.Option{{Value: "r", Title: "Red"}, {Value: "g", Title: "Green, dark"}, {Value: "3"}}
	fields := map[string]form.Field{
		"string":  {Name: "s", MinLength: n(2)},
		"date":    {Name: "d", Format: "date"},
		"integer": {Name: "i", Kind: form.Integer, Minimum: "-5"},
		"number":  {Name: "n", Kind: form.Number},
		"boolean": {Name: "b", Kind: form.Boolean},
		"choice":  {Name: "c", Kind: form.Choice, Options: options, Title: "Colour"},
		"some":    {Name: "m", Kind: form.MultiChoice, Options: options, MaxItems: n(2)},
		"need":    {Name: "need", Required: true},
		"preset":  {Name: "preset", Required: true, Default: []byte(`"x"`)},
		"none":    {Name: "none", Required: true, Kind: form.MultiChoice, Options: options},
		"secret":  {Name: "hush", Secret: true, Pattern: "^a+$"},
		"same":    {Name: "same", Kind: form.Choice, Options: []form.Option{{Value: "1", Title: "x"}, {Value: "2", Title: "X"}}},
	}
	for _, c := range []struct{ field, in, want, wrong string }{
		{"string", "  a b ", `"  a b "`, ""},
		{"string", "a\n", ``, "s must have at least 2 characters"},
		{"string", "", ``, ""},
		{"date", "2026-02-30", ``, "d must be a date like 2026-07-28"},
		{"integer", " +0042 ", `42`, ""},
		{"integer", "-5", `-5`, ""},
		{"integer", "-6", ``, "i must be at least -5"},
		{"integer", "4.0", ``, "i must be a whole number like 42"},
		{"integer", "123456789012345678901234567890", `123456789012345678901234567890`, ""},
		{"number", "-.5", `-0.5`, ""},
		{"number", "1e3", `1e3`, ""},
		{"number", "1e999", ``, "n must be a number"},
		{"number", "NaN", ``, "n must be a number"},
		{"number", "0x10", ``, "n must be a number"},
		{"boolean", "YES", `true`, ""},
		{"boolean", "off", `false`, ""},
		{"boolean", "maybe", ``, "b must be yes or no"},
		{"choice", "r", `"r"`, ""},
		{"choice", "RED", `"r"`, ""},
		{"choice", "2", `"g"`, ""},
		{"choice", "3", `"3"`, ""},
		{"choice", "4", ``, "Colour must be one of Red, Green, dark, 3"},
		{"some", "green, dark", `["g"]`, ""},
		{"some", "red, 3, r", `["r","3"]`, ""},
		{"some", "r,g,3", ``, "m must have at most 2 items"},
		{"some", "r,x", ``, "m must be one of"},
		{"need", "", ``, "need needs an answer"},
		{"preset", "", `"x"`, ""},
		{"none", "", `[]`, ""},
		{"secret", "hunter2", ``, "hush must match the pattern ^a+$"},
		{"same", "x", ``, "means more than one"},
		{"same", "2", `"2"`, ""},
	} {
		fd := fields[c.field]
		got, err := fd.ParseText(c.in)
		if string(got) != c.want || (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s %q: got %s %v, want %s %s", c.field, c.in, got, err, c.want, c.wrong)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("a secret is repeated: %v", err)
		}
	}
}

// Text that reads differently from what it is: overrides and zero-width characters do not reach a person.
func TestThreat16HiddenText(t *testing.T) {
	t.Parallel()
	f := parse(t, "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"title\":\"pay\u202e001\u202c \u200bno\u2066w\ufeff\",\"description\":\"a\u2028b\u00adc\U000e0041\"}}}")
	if got := f.Fields[0].Label(); got != "pay001 now" {
		t.Errorf("got %q", got)
	}
	if got := f.Fields[0].Help(); got != "a bc" {
		t.Errorf("got %q", got)
	}
}

// Terminal escapes in titles, options and names do not reach a terminal.
func TestThreat17TerminalEscapes(t *testing.T) {
	t.Parallel()
	f := parse(t, `{"type":"object","properties":{"a\u001b[2J":{"type":"string","oneOf":[{"const":"x\u001b]52;c;AAAA\u0007","title":"\u001b[31mOK\u009b0m"},{"const":"\u001b"}]}}}`)
	fd := &f.Fields[0]
	_, err := fd.ParseText("nope")
	for _, s := range []string{fd.Label(), fd.Options[0].Label(), fd.Options[1].Label(), err.Error(), f.Check([]byte(`{"\u001b[2J":1}`)).Error()} {
		if strings.ContainsAny(s, "\x1b\a") || strings.ContainsRune(s, '\u009b') || s == "" {
			t.Errorf("got %q", s)
		}
	}
	if f.Fields[0].Options[0].Value != "x\x1b]52;c;AAAA\a" {
		t.Error("the value itself must stay what it is")
	}
}

// Markup is text: nothing is interpreted, nothing is lost.
func TestThreat18Markup(t *testing.T) {
	t.Parallel()
	const text = "[click](https://evil.test) <b>now</b> [link=https://evil.test]x[/link]"
	fd := form.Field{Name: "a", Title: text, Description: text}
	if fd.Label() != text || fd.Help() != text {
		t.Errorf("got %q %q", fd.Label(), fd.Help())
	}
	if got := (&form.Field{Title: strings.Repeat("x", 5000)}).Label(); len([]rune(got)) != 121 {
		t.Errorf("a title of %d characters is shown", len([]rune(got)))
	}
}

func TestThreat20SecretsAskedByForm(t *testing.T) {
	t.Parallel()
	secret := []string{
		"password", "Password", "user_password", "dbPassword", "DB_PASSWORD", "dbpassword", "passwd", "pwd", "passphrase", "secret", "client_secret", "clientSecret",
		"api_key", "apiKey", "APIKey", "apikey", "API key", "x-api-key", "OPENAI_API_KEY", "token", "access_token", "accessToken", "GitHub token", "auth-token",
		"api_tokens", "credential", "credentials", "private key", "privateKey", "ssh_key", "secret access key", "pin", "PIN code", "card_pin", "otp", "OTP code", "totp",
		"cvv", "CVC", "ssn", "social security number", "card_number", "credit card", "Credit card number", "verification code", "one-time code", "2fa code", "jwt",
		"pass\u200bword", "ｐａｓｓｗｏｒｄ", "Passwort", "contraseña", "contrasen\u0303a", "mot de passe", "密码", "Пароль", "seed phrase", "recovery codes", "new password again",
		"bearer token", "token value", "session_cookie", "security code",
	}
	for _, name := range secret {
		f, err := form.New(form.Field{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		if field, reason, ok := f.LooksSecret(); !ok || field != name || reason == "" {
			t.Errorf("%q was not taken for a secret", name)
		}
		if _, ok := (&form.Field{Name: "x", Title: name}).LooksSecret(); !ok {
			t.Errorf("the title %q was not taken for a secret", name)
		}
	}
	plain := []string{
		"tokens_used", "max_tokens", "token_count", "tokenLimit", "tokens", "secretary", "secretariat", "pinned", "pin_to_top", "opinion", "spin", "shipping", "keyboard",
		"key", "project_key", "monkey", "keynote", "password_policy", "passwordLength", "password reset", "secret_name", "secretId", "credential type", "compass", "passenger",
		"passport", "boarding pass", "card", "business card", "postal code", "country_code", "area code", "code", "number", "phone number", "account number", "cookie recipe",
		"footprint", "authtype", "next_page_token", "continuation token", "Secret Santa", "one time", "time", "session", "author", "accessibility", "assn", "tokenizer", "pinterest", "",
		"secret_ingredient", "bypass", "password_hint",
	}
	for _, name := range plain {
		if reason, ok := (&form.Field{Name: name, Title: name}).LooksSecret(); ok {
			t.Errorf("%q was taken for a secret: %s", name, reason)
		}
	}
	for _, fd := range []form.Field{
		{Name: "x", Secret: true, Kind: form.Boolean}, {Name: "x", Format: "password"}, {Name: "otp", Kind: form.Integer},
	} {
		if _, ok := fd.LooksSecret(); !ok {
			t.Errorf("%+v was not taken for a secret", fd)
		}
	}
	for _, fd := range []form.Field{{Name: "has_password", Kind: form.Boolean}, {Name: "token", Kind: form.Choice}} {
		if _, ok := fd.LooksSecret(); ok {
			t.Errorf("%+v was taken for a secret", fd)
		}
	}
	type tagged struct {
		Name string `json:"name"`
		Key  string `json:"key" secret:"true"`
	}
	if field, _, ok := mustOf[tagged](t).LooksSecret(); !ok || field != "key" {
		t.Errorf("got %q", field)
	}
}
