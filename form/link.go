package form

import "regexp"

// linkPattern matches what programs commonly turn into a link: a scheme with an authority, schemes that act by themselves, www names, and
// the targets of Markdown links.
var linkPattern = regexp.MustCompile(`(?i)\b(?:[a-z][a-z0-9+.-]*://|(?:mailto|tel|sms|javascript|data|vbscript|file):|www\.)[^\s<>"]+|\]\([^)\s]+\)`)

// FindLink returns the first clickable URL in a text, fit for display. Questions that are answered in a form must not carry one: links belong
// into URL mode, where people see where they lead ("Safe URL Handling" of the specification's elicitation page). Characters that hide in the
// text do not hide a link.
func FindLink(text string) (link string, ok bool) {
	link = linkPattern.FindString(clean(text, len(text)))
	return clean(link, maxLabel), link != ""
}

// FindLink returns the first field whose title, description or options carry a clickable URL.
func (f *Form) FindLink() (field, link string, ok bool) {
	for i := range f.Fields {
		fd := &f.Fields[i]
		texts := []string{fd.Title, fd.Description}
		for _, o := range fd.Options {
			texts = append(texts, o.text())
		}
		for _, text := range texts {
			if link, ok := FindLink(text); ok {
				return fd.Name, link, true
			}
		}
	}
	return "", "", false
}
