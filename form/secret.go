package form

import (
	"slices"
	"strings"
	"unicode"
)

// LooksSecret finds the first field that asks for a secret, which forms must not do (the answer passes through the client and possibly the
// model): a field that is tagged as secret, has the format password, or is named or titled like a credential. Reason says which.
//
// Names are compared word by word, so that secretary, pinned, keyboard and tokens_used are not taken for secrets. Fields that cannot hold a
// credential (booleans and choices) are judged by tag and format alone.
func (f *Form) LooksSecret() (field, reason string, ok bool) {
	for i := range f.Fields {
		if reason, ok := f.Fields[i].LooksSecret(); ok {
			return f.Fields[i].Name, reason, true
		}
	}
	return "", "", false
}

// LooksSecret judges one field; see [Form.LooksSecret].
func (fd *Field) LooksSecret() (reason string, ok bool) {
	switch {
	case fd.Secret:
		return "it is tagged as secret", true
	case strings.EqualFold(fd.Format, "password"):
		return "its format is password", true
	case fd.Kind != String && fd.Kind != Integer:
		return "", false
	}
	if word := credential(fd.Name); word != "" {
		return "its name contains " + quoted(word), true
	}
	if word := credential(fd.Title); word != "" {
		return "its title contains " + quoted(word), true
	}
	return "", false
}

func quoted(s string) string { return `"` + s + `"` }

// Words that name a credential by themselves, wherever they stand.
var secretWords = wordSet(`password passwords passwd pwd passphrase passphrases passcode passkey secret secrets credential credentials
	apikey apikeys apitoken apisecret accesstoken authtoken refreshtoken bearertoken privatekey secretkey accesskey clientsecret
	otp totp cvv cvc cvv2 cvc2 ssn jwt mnemonic
	passwort kennwort contraseña contrasena senha wachtwoord hasło парол пароль 密码 密碼 パスワード 비밀번호`)

// Words that name one when they come last or before a word for "value".
var secretLast = wordSet(`token pin pw`)

// Words that name one only after another.
var secretPairs = map[string]map[string]bool{
	"key":    wordSet("api private secret access ssh encryption signing master license account recovery deploy webhook gpg pgp"),
	"keys":   wordSet("api private secret access ssh encryption signing"),
	"tokens": wordSet("api access auth bearer refresh session secret personal"),
	"code":   wordSet("pin security verification authorization auth recovery backup 2fa mfa otp sms card cvv cvc login authenticator"),
	"codes":  wordSet("recovery backup"),
	"phrase": wordSet("seed pass recovery secret"),
	"number": wordSet("card security pin ssn"),
	"card":   wordSet("credit debit bank"),
	"cookie": wordSet("session auth login"),
	"word":   wordSet("pass"),
	"time":   wordSet("one"),
	"passe":  wordSet("de"),
}

// Words after a credential that turn it into something about it.
var aboutSecret = wordSet(`name names id ids identifier type types kind count counts limit limits budget length policy policies url uri link expiry expires
	expiration ttl label version rotation manager usage used remaining max min size store storage vault path provider algorithm hint required
	strength field title description reset service enabled scope scopes holder owner status location santa ingredient message sauce`)

// Words after a credential that still mean its value.
var secretValue = wordSet(`value text string code number again confirm confirmation repeat new old current here please`)

// Words before a token that make it a position in a list or a piece of text.
var notSecret = wordSet(`page cursor continuation next sync stop start end per map drop`)

func wordSet(s string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(s) {
		set[w] = true
	}
	return set
}

// credential returns the words of a name that ask for a credential, or "".
func credential(name string) string {
	words := wordsOf(name)
	for i, w := range words {
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		if aboutSecret[next] {
			continue
		}
		switch {
		case secretWords[w] || secretSuffix(w):
			return w
		case secretLast[w] && (next == "" || secretValue[next]) && (i == 0 || !notSecret[words[i-1]]):
			return w
		case i > 0 && secretPairs[w][words[i-1]] && pairCounts(w, next):
			return words[i-1] + " " + w
		}
	}
	return ""
}

// pairCounts keeps "one time" from matching without the code that it qualifies, and "card" in front of what is not its number.
func pairCounts(w, next string) bool {
	switch w {
	case "time":
		return next == "code" || next == "pin" || next == "token"
	case "card":
		return next == "number" || next == ""
	}
	return true
}

// secretSuffix finds compounds written as one word, such as dbpassword.
func secretSuffix(w string) bool {
	return slices.ContainsFunc([]string{"password", "passwd", "passphrase", "apikey", "passwort", "secretkey", "privatekey", "密码", "密碼", "パスワード", "비밀번호"},
		func(suffix string) bool { return strings.HasSuffix(w, suffix) })
}

// wordsOf splits a name into lower-case words at changes of case, digits' ends and everything that is no letter or digit. Characters that
// hide in text are dropped first, and full-width letters are made ordinary, so that neither hides a word.
func wordsOf(name string) []string {
	var words []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	runes := visible(name)
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			flush()
			continue
		}
		if unicode.IsUpper(r) && i > 0 {
			afterLower := unicode.IsLower(runes[i-1])
			endOfAcronym := unicode.IsUpper(runes[i-1]) && i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if afterLower || endOfAcronym {
				flush()
			}
		}
		word = append(word, r)
	}
	flush()
	return words
}

// maxJudged is how much of a name or title is looked at.
const maxJudged = 500

func visible(s string) []rune {
	var out []rune
	for _, r := range s {
		switch {
		case len(out) >= maxJudged:
			return out
		case hidden(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Mn, r):
			continue
		case '！' <= r && r <= '～': // full-width forms of ASCII
			r -= '！' - '!'
		}
		out = append(out, r)
	}
	return out
}
