package pages

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"golang.org/x/text/language"
)

//go:embed texts.json
var textsFile []byte

// fallback is the language of readers whose own is not there.
const fallback = "en"

// catalog holds the texts by language and key.
type catalog struct {
	texts   map[string]map[string]string
	langs   []string // as in tags; the fallback comes first
	matcher language.Matcher
}

// loadCatalog reads the texts, once.
var loadCatalog = sync.OnceValues(func() (*catalog, error) {
	c := &catalog{}
	if err := json.Unmarshal(textsFile, &c.texts); err != nil {
		return nil, fmt.Errorf("pages: texts.json: %w", err)
	}
	for lang := range c.texts {
		if lang != fallback {
			c.langs = append(c.langs, lang)
		}
	}
	slices.Sort(c.langs)
	c.langs = append([]string{fallback}, c.langs...)
	tags := make([]language.Tag, len(c.langs))
	for i, lang := range c.langs {
		tag, err := language.Parse(lang)
		if err != nil {
			return nil, fmt.Errorf("pages: texts.json: language %q: %w", lang, err)
		}
		tags[i] = tag
	}
	c.matcher = language.NewMatcher(tags)
	return c, nil
})

// pick chooses the language for an Accept-Language header.
func (c *catalog) pick(accept string) string {
	const longest = 256 // no browser sends more; parsing costs
	if len(accept) > longest {
		return fallback
	}
	wanted, _, err := language.ParseAcceptLanguage(accept)
	if err != nil {
		return fallback
	}
	_, i, _ := c.matcher.Match(wanted...)
	return c.langs[i]
}

// text returns the words for key with args put in. A key that does not exist is a mistake in a template, found by the tests.
func (c *catalog) text(lang, key string, args ...any) (string, error) {
	format, found := c.texts[lang][key]
	if !found {
		return "", fmt.Errorf("pages: there is no text %q in %q", key, lang)
	}
	if len(args) == 0 || !strings.Contains(format, "%") {
		return format, nil
	}
	return fmt.Sprintf(format, args...), nil
}
