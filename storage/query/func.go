package query

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// function is one that a filter may call. Its arguments stand in parentheses, separated by commas.
type function struct {
	want  string // the arguments, as an error message shows them
	args  int
	build func(args []expr) (expr, error)
}

var functions = map[string]function{
	"IsMatch":     {"(target, \"pattern\")", 2, isMatch},
	"HasPrefix":   {"(target, \"prefix\")", 2, textTest(bytes.HasPrefix)},
	"HasSuffix":   {"(target, \"suffix\")", 2, textTest(bytes.HasSuffix)},
	"TraceID":     {"(0x… of 16 bytes)", 1, idLiteral(16)},
	"SpanID":      {"(0x… of 8 bytes)", 1, idLiteral(8)},
	"IsString":    {"(value)", 1, isKind(kindString)},
	"IsBool":      {"(value)", 1, isKind(kindBool)},
	"IsInt":       {"(value)", 1, isKind(kindInt, kindUint)},
	"IsDouble":    {"(value)", 1, isKind(kindDouble)},
	"IsList":      {"(value)", 1, isKind(kindList)},
	"IsMap":       {"(value)", 1, isKind(kindMap)},
	"IsRootSpan":  {"()", 0, nil}, // built by the parser, which knows the signal
	"Len":         {"(value)", 1, unary(value.length)},
	"Int":         {"(value)", 1, unary(value.toInt)},
	"Double":      {"(value)", 1, unary(value.toDouble)},
	"String":      {"(value)", 1, unary(asString)},
	"ToLowerCase": {"(value)", 1, unary(lower)},
}

func functionNames() string {
	return strings.Join(slices.Sorted(maps.Keys(functions)), ", ")
}

// call = name "(" [ operand { "," operand } ] ")"
func (p *parser) call(name token) (expr, error) {
	if p.depth++; p.depth > MaxFilterDepth {
		return nil, &SyntaxError{Offset: name.at, Reason: "functions are nested too deeply"}
	}
	defer func() { p.depth-- }()
	f, ok := functions[name.text]
	if !ok {
		return nil, &SyntaxError{Offset: name.at, Reason: fmt.Sprintf("unknown function %s; known are %s", name, functionNames())}
	}
	args, err := p.arguments()
	if err != nil {
		return nil, err
	}
	if len(args) != f.args {
		return nil, &SyntaxError{Offset: name.at, Reason: fmt.Sprintf("write %s%s", name.text, f.want)}
	}
	if name.text == "IsRootSpan" {
		return p.isRootSpan(name)
	}
	e, err := f.build(args)
	if err != nil {
		return nil, &SyntaxError{Offset: name.at, Reason: fmt.Sprintf("%s%s: %v", name.text, f.want, err)}
	}
	return e, nil
}

func (p *parser) arguments() ([]expr, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	var args []expr
	for !p.at(tokPunct, ")") {
		if len(args) > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
		}
		e, err := p.operand()
		if err != nil {
			return nil, err
		}
		args = append(args, e)
	}
	return args, p.advance()
}

func (p *parser) isRootSpan(at token) (expr, error) {
	parent, reason := resolve(p.sig, "parent_span_id", nil)
	if reason != "" {
		return nil, &SyntaxError{Offset: at.at, Reason: "IsRootSpan() is for spans"}
	}
	p.use(parent)
	return truth{comparison(parent, opEqual, literal{})}, nil
}

func isMatch(args []expr) (expr, error) {
	pattern, ok := literalText(args[1])
	if !ok {
		return nil, fmt.Errorf("the pattern must be a string")
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	return truth{test{args[0], func(v value) bool {
		if v.kind == kindString {
			return re.Match(v.raw)
		}
		text, ok := v.text()
		return ok && re.MatchString(text)
	}}}, nil
}

func textTest(holds func(s, part []byte) bool) func([]expr) (expr, error) {
	return func(args []expr) (expr, error) {
		part, ok := literalText(args[1])
		if !ok {
			return nil, fmt.Errorf("the second argument must be a string")
		}
		want := []byte(part)
		return truth{test{args[0], func(v value) bool {
			if v.kind == kindString {
				return holds(v.raw, want)
			}
			text, ok := v.text()
			return ok && holds([]byte(text), want)
		}}}, nil
	}
}

func literalText(e expr) (string, bool) {
	l, ok := e.(literal)
	if !ok || l.kind != kindString {
		return "", false
	}
	return string(l.raw), true
}

func isKind(kinds ...kind) func([]expr) (expr, error) {
	return func(args []expr) (expr, error) {
		return truth{test{args[0], func(v value) bool { return slices.Contains(kinds, v.kind) }}}, nil
	}
}

func unary(fn func(value) value) func([]expr) (expr, error) {
	return func(args []expr) (expr, error) { return call{arg: args[0], fn: fn}, nil }
}

// idLiteral takes an id as bytes, or as the string of its hexadecimal digits.
func idLiteral(size int) func([]expr) (expr, error) {
	return func(args []expr) (expr, error) {
		l, ok := args[0].(literal)
		raw := l.raw
		if ok && l.kind == kindString {
			decoded, err := hex.DecodeString(string(l.raw))
			raw, ok = decoded, err == nil
		}
		if !ok || len(raw) != size {
			return nil, fmt.Errorf("an id of %d bytes is wanted", size)
		}
		return literal{idValue(raw)}, nil
	}
}

func asString(v value) value {
	if v.kind == kindString {
		return v
	}
	text, ok := v.text()
	if !ok {
		return value{}
	}
	return stringValue(text)
}

func lower(v value) value {
	if v.kind != kindString {
		return value{}
	}
	return value{kind: kindString, raw: bytes.ToLower(v.raw)}
}
