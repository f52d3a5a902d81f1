package mutants

// A mutant is one mistake.
type mutant struct {
	name     string
	file     string // of the repository
	old, new string // what it replaces: text that occurs exactly once
	target   string // the fuzz target, in the same package unless pkg says otherwise, that must fail
	pkg      string
}

var mutants = []mutant{
	// The envelope.
	{name: "a duplicate member is accepted", file: "jsonrpc/decode.go", target: "FuzzDecode",
		old: "	d.reset(data)\n	if d.text.PeekKind() != '{' {\n		return Message{}, d.notObject()",
		new: "	d.reset(data, jsontext.AllowDuplicateNames(true))\n	if d.text.PeekKind() != '{' {\n		return Message{}, d.notObject()"},
	{name: "invalid UTF-8 and lone surrogates are accepted", file: "jsonrpc/decode.go", target: "FuzzDecode",
		old: "	d.reset(data)\n	if d.text.PeekKind() != '{' {\n		return Message{}, d.notObject()",
		new: "	d.reset(data, jsontext.AllowInvalidUTF8(true))\n	if d.text.PeekKind() != '{' {\n		return Message{}, d.notObject()"},
	{name: "names are compared without case", file: "jsonrpc/envelope.go", target: "FuzzDecode",
		old: "	switch string(name) {\n	case \"jsonrpc\":", new: "	switch string(bytes.ToLower(name)) {\n	case \"jsonrpc\":"},
	{name: "escaped names are not seen through", file: "jsonrpc/envelope.go", target: "FuzzDecode",
		old: "if bytes.IndexByte(name, '\\\\') >= 0 {", new: "if bytes.IndexByte(name, '\\\\') >= 90 {"},
	{name: "an id keeps 32 bits", file: "jsonrpc/id.go", target: "FuzzDecode", old: "return IntID(n), nil", new: "return IntID(int64(int32(n))), nil"},
	{name: "escapes of an id stay", file: "jsonrpc/id.go", target: "FuzzDecode", old: "	if isPlain(raw) {", new: "	if isPlain(raw) || len(raw) > 2 {"},
	{name: "what follows the message is ignored", file: "jsonrpc/decode.go", target: "FuzzDecode",
		old: "	if err := d.end(); err != nil {\n		return Message{}, err\n	}\n	if err := d.check()", new: "	if err := d.check()"},
	{name: "the version is not checked", file: "jsonrpc/envelope.go", target: "FuzzDecode", old: "if !isVersion(value) {", new: "if len(value) > 100 {"},
	{name: "the last message of a batch is lost", file: "jsonrpc/batch.go", target: "FuzzBatch",
		old: "	if len(items) == 0 {", new: "	if len(items) > 1 {\n		items = items[:len(items)-1]\n	}\n	if len(items) == 0 {"},
	{name: "a bad message of a batch counts as good", file: "jsonrpc/batch.go", target: "FuzzBatch", old: "item.Err = asError(err)", new: "_ = err"},

	// Lines.
	{name: "lines end where a read ends", file: "internal/conn/lines.go", target: "FuzzLines",
		old: "if len(unused) == len(l.buf) || l.err != nil {", new: "if len(unused) > 0 || l.err != nil {\n		if len(unused) > 0 {\n			l.start, l.end = 0, 0\n			return unused, true\n		}"},
	{name: "the last line without a newline is lost when it came alone", file: "internal/conn/lines.go", target: "FuzzLines",
		old: "if errors.Is(l.err, io.EOF) && (len(line) > 0 || over) {", new: "if errors.Is(l.err, io.EOF) && (len(line) > 60 || over) {"},
	{name: "a line that is too long is taken", file: "internal/conn/lines.go", target: "FuzzLines",
		old: "	if n := len(line) + len(part); n > l.max {", new: "	if n := len(line) + len(part); n > l.max+500 {"},

	// Event streams.
	{name: "CRLF counts as two line ends", file: "internal/sse/reader.go", target: "FuzzReader", old: "r.skipLF = unused[len(line)] == '\\r'", new: "r.skipLF = false"},
	{name: "CR at the end of a read is forgotten", file: "internal/sse/reader.go", target: "FuzzReader",
		old: "		if r.skipLF && r.start < r.end {\n			r.skipLF = false", new: "		if r.skipLF {\n			r.skipLF = false\n			if r.start == r.end {\n				continue\n			}"},
	{name: "an id may hold NUL", file: "internal/sse/event.go", target: "FuzzRoundTrip", old: `strings.ReplaceAll(ev.ID, "\x00", "")`, new: `ev.ID`},
	{name: "a lone CR in data is sent", file: "internal/sse/event.go", target: "FuzzRoundTrip",
		old: "	if cr := bytes.IndexByte(b, '\\r'); cr >= 0 {", new: "	if cr := bytes.IndexByte(b, '\\r'); cr >= 0 && lf == cr+1 {"},
	{name: "the byte order mark is data", file: "internal/sse/reader.go", target: "FuzzReader", old: `return bytes.TrimPrefix(line, []byte("\ufeff"))`, new: `return line`},
	{name: "every leading space is dropped", file: "internal/sse/reader.go", target: "FuzzRoundTrip",
		old: "	if len(value) > 0 && value[0] == ' ' {", new: "	for len(value) > 0 && value[0] == ' ' {"},

	// Headers and the classifier.
	{name: "the Base64 marker is compared without case", file: "internal/era/header.go", target: "FuzzHeader",
		old: "return len(s) >= len(headerOpen)+len(headerClose) && strings.HasPrefix(s, headerOpen)",
		new: "return len(s) >= len(headerOpen)+len(headerClose) && strings.EqualFold(s[:len(headerOpen)], headerOpen)"},
	{name: "text that looks encoded is sent as it is", file: "internal/era/header.go", target: "FuzzHeader", old: "&& !looksWrapped", new: "&& (!looksWrapped || len(s) > 12)"},
	{name: "a tab is sent as it is", file: "internal/era/header.go", target: "FuzzHeader", old: "if s[i] < 0x20 || s[i] > 0x7E {", new: "if s[i] < 0x09 || s[i] > 0x7E {"},
	{name: "what is encoded need not be UTF-8", file: "internal/era/header.go", target: "FuzzHeader", old: "if err != nil || !utf8.Valid(b) {", new: "if err != nil {"},
	{name: "names are compared before they are decoded", file: "internal/era/classify.go", target: "FuzzClassify",
		old: "case in.Headers.Name.Count != 1 || name != in.Name:", new: "case in.Headers.Name.Count != 1 || name != in.Name && in.Headers.Name.Value != in.Name:"},
	{name: "a header sent twice is good", file: "internal/era/classify.go", target: "FuzzClassify",
		old: "case in.Headers.Name.Count != 1 || name != in.Name:", new: "case name != in.Name:"},
	{name: "Mcp-Method is not compared", file: "internal/era/classify.go", target: "FuzzClassify", old: "case !h.Method.is(in.Method):", new: "case h.Method.Count > 3:"},
	{name: "a revision that is not served is spoken", file: "internal/era/classify.go", target: "FuzzClassify",
		old: "	if !ok || !in.Supported.Modern().Has(rev) {\n		return unsupported(in.Supported, in.MetaVersion)", new: "	if !ok {\n		return unsupported(in.Supported, in.MetaVersion)"},
	{name: "capabilities may be of any type", file: "internal/era/classify.go", target: "FuzzClassify", old: "case in.MetaCapabilities != Valid:", new: "case in.MetaCapabilities > 9:"},

	// Mirrored arguments, templates, cursors.
	{name: "numbers are compared as floating point", file: "mcp/server_headers.go", target: "FuzzSameParam",
		old: "return bytes.Equal(canon.AppendNumber(nil, value), canon.AppendNumber(nil, number))",
		new: "a, err1 := strconv.ParseFloat(string(value), 64)\n	b, err2 := strconv.ParseFloat(text, 64)\n	return err1 == nil && err2 == nil && a == b && len(canon.AppendNumber(nil, value)) > 0 || bytes.Equal(nil, value)"},
	{name: "numbers beyond 2^53 have other spellings", file: "mcp/server_headers.go", target: "FuzzSameParam",
		old: "err != nil || f > maxSafeInteger || f < -maxSafeInteger {", new: "err != nil || f > 1e300 || f < -1e300 {"},
	{name: "strings are compared without case", file: "mcp/server_headers.go", target: "FuzzSameParam",
		old: "return state == era.Valid && s == text", new: "return state == era.Valid && strings.EqualFold(s, text)"},
	{name: "strings are compared with their escapes", file: "mcp/server_headers.go", target: "FuzzSameParam",
		old: "return state == era.Valid && s == text", new: "return state == era.Valid && s == text && string(value) == `\"`+text+`\"`"},
	{name: "a template matches part of a URI", file: "mcp/server_template.go", target: "FuzzTemplate", old: "b.WriteString(`\\z`)", new: "b.WriteString(``)"},
	{name: "literal text of a template is a pattern", file: "mcp/server_template.go", target: "FuzzTemplate",
		old: "b.WriteString(regexp.QuoteMeta(literal))", new: "b.WriteString(literal)"},
	{name: "values are not decoded", file: "mcp/server_template.go", target: "FuzzTemplateValues", old: "if out, err := url.PathUnescape(s); err == nil {", new: "if out, err := url.PathUnescape(s); err != nil {"},
	{name: "a plain value may hold a slash", file: "mcp/server_template.go", target: "FuzzTemplate",
		old: "unreservedChar = `(?:[A-Za-z0-9", new: "unreservedChar = `(?:[/A-Za-z0-9"},
	{name: "a cursor leads to its own entry", file: "mcp/server_registry.go", target: "FuzzCursor", old: "return *list[i].order() > n", new: "return *list[i].order() >= n"},
	{name: "a cursor is of no use once its entry is gone", file: "mcp/server_registry.go", target: "FuzzCursor",
		old: "		n = *e.order()\n	}", new: "		n = *e.order()\n	} else {\n		return 0, errBadCursor\n	}"},
	{name: "a cursor of another version leads somewhere", file: "mcp/server_registry.go", target: "FuzzCursor", old: "if version != cursorVersion || ", new: "if version == \"\" || "},

	// The schema compiler.
	{name: "a value that is no option is accepted", file: "internal/schema/walk_scalar.go", target: "FuzzDecode",
		old: "case r.Options != nil && !r.hasText(text):", new: "case r.Options != nil && len(text) > 50:"},
	{name: "length counts bytes", file: "internal/schema/walk_scalar.go", target: "FuzzDecode",
		old: "case r.MaxLength != nil && utf8.RuneCount(text) > *r.MaxLength:", new: "case r.MaxLength != nil && len(text) > *r.MaxLength:"},
	{name: "the least value is not allowed", file: "internal/schema/walk_scalar.go", target: "FuzzDecode",
		old: "case r.min != nil && d.cmp(*r.min) < 0:", new: "case r.min != nil && d.cmp(*r.min) <= 0:"},
	{name: "a required member may be missing", file: "internal/schema/walk_object.go", target: "FuzzDecode",
		old: "			if !w.missing(member) {\n				return false\n			}\n", new: ""},

	// Canonical JSON.
	{name: "numbers are rounded to 17 digits", file: "internal/canon/number.go", target: "FuzzNumber",
		old: "	trimmed := bytes.TrimRight(digits, \"0\")", new: "	trimmed := bytes.TrimRight(digits, \"0\")\n	if len(trimmed) > 15 {\n		digits = append(digits[:15:15], bytes.Repeat([]byte{'0'}, len(digits)-15)...)\n		trimmed = bytes.TrimRight(digits, \"0\")\n	}"},
	{name: "the sign is lost", file: "internal/canon/number.go", target: "FuzzNumber", old: "	if negative {", new: "	if negative && len(trimmed) > 90 {"},
	{name: "members stay in their order", file: "internal/canon/canon.go", target: "FuzzAppend", old: "		w.out = w.out[:len(w.out)-1] // the last comma", new: "		w.out = w.out[:len(w.out)] // the last comma"},

	// Sealed state.
	{name: "another spelling of the same sealed bytes opens", file: "mcp/state_seal.go", target: "FuzzOpen",
		old: "	if bytes.ContainsAny(sealed, \"\\r\\n\") { // the decoder would skip them", new: "	if bytes.ContainsAny(sealed, \"\\x00\") { // the decoder would skip them"},
	{name: "sealed text opens with other bits at its end", file: "mcp/state_seal.go", target: "FuzzOpen",
		old: "var strictBase64 = base64.RawURLEncoding.Strict()", new: "var strictBase64 = base64.RawURLEncoding"},
	{name: "the principal is not part of what state is bound to", file: "mcp/state_seal.go", target: "TestThreat",
		old: "appendPart(appendPart(appendPart(ad, b.Principal.Issuer), b.Principal.Subject), b.Principal.ClientID)", new: "appendPart(ad, b.Principal.Issuer)"},
	{name: "the expiry is not checked", file: "mcp/state_flow.go", target: "Test(Threat|Case|State)", old: "if !time.Now().Before(time.Unix(st.Expires, 0)) {", new: "if false {"},
	{name: "large numbers of a state are rounded", file: "mcp/state_code.go", target: "TestFlowState",
		old: "dst = appendSized(appendSized(dst, key), raw)", new: "dst = appendSized(appendSized(dst, key), raw[:min(len(raw), 9)])"},

	// Forms and their answers.
	{name: "what was not asked is kept", file: "form/answers.go", target: "FuzzFormAnswers", old: "	return r.AppendNormal(dst, content)",
		new: "	if _, err := r.Normalize(content); err != nil {\n		return nil, err\n	}\n	return append(dst, content...), nil"},
	{name: "defaults run together", file: "form/answers.go", target: "FuzzFormParse", old: "		if len(dst) > 1 {", new: "		if len(dst) > 100 {"},
	{name: "what was typed is not checked", file: "form/text.go", target: "FuzzFormParse",
		old: "	if raw, err = r.Normalize(raw); err != nil {", new: "	if _, err = r.Normalize(raw); err != nil && len(raw) > 90 {"},
	{name: "what is required may be missing", file: "form/parse.go", target: "FuzzFormOracle", old: "Required: required[m.Name]}", new: "Required: required[m.Name] && len(required) > 1}"},
	{name: "a maximum is taken for a minimum", file: "form/parse.go", target: "FuzzFormOracle", old: `{"maximum", &p.field.Maximum}`, new: `{"maximum", &p.field.Minimum}`},
	{name: "labels stand beside other options", file: "form/parse.go", target: "FuzzFormOracle", old: "o.Title = names.Items[i].Text", new: "o.Title = names.Items[len(names.Items)-1-i].Text"},
	{name: "a list may be too short", file: "form/parse.go", target: "FuzzFormOracle", old: `map[string]**int{"minItems": &p.field.MinItems, "maxItems"`, new: `map[string]**int{"minItem": &p.field.MinItems, "maxItems"`},
}
