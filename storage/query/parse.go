package query

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"

	"mira/storage/signal"
)

// Bounds on a filter, so that neither the parser nor the evaluation can be made to run away.
const (
	MaxFilterBytes = 16 << 10
	MaxFilterDepth = 64 // nested parentheses and nots
)

// A Filter is a parsed OTTL condition on the records of one signal. It is immutable.
type Filter struct {
	text  string
	root  node
	paths []*path
}

// String returns the text the filter was parsed from.
func (f *Filter) String() string { return f.text }

// ParseFilter parses an OTTL condition on records of s. An empty text accepts every record. An
// error is a *SyntaxError.
func ParseFilter(s signal.Signal, text string) (*Filter, error) {
	if len(text) > MaxFilterBytes {
		return nil, &SyntaxError{Offset: MaxFilterBytes, Reason: fmt.Sprintf("the filter is longer than %d bytes", MaxFilterBytes)}
	}
	p := &parser{lexer: lexer{src: text}, sig: s}
	if err := p.advance(); err != nil {
		return nil, err
	}
	f := &Filter{text: text, root: constant(true)}
	if p.tok.kind == tokEnd {
		return f, nil
	}
	root, err := p.disjunction()
	if err != nil {
		return nil, err
	}
	if p.tok.kind != tokEnd {
		return nil, p.unexpected("and, or, or the end of the filter")
	}
	f.root, f.paths = root, p.paths
	return f, nil
}

type parser struct {
	lexer
	sig   signal.Signal
	tok   token
	depth int
	paths []*path
}

func (p *parser) advance() (err error) {
	p.tok, err = p.lexer.next()
	return err
}

func (p *parser) at(kind tokenKind, text string) bool {
	return p.tok.kind == kind && p.tok.text == text
}

func (p *parser) unexpected(want string) error {
	return &SyntaxError{Offset: p.tok.at, Reason: fmt.Sprintf("unexpected %s, want %s", p.tok, want)}
}

// expect steps over the punctuation text.
func (p *parser) expect(text string) error {
	if !p.at(tokPunct, text) {
		return p.unexpected(strconv.Quote(text))
	}
	return p.advance()
}

// disjunction = conjunction { "or" conjunction }
func (p *parser) disjunction() (node, error) {
	return p.chain("or", p.conjunction, func(n []node) node { return or(n) })
}

// conjunction = negation { "and" negation }
func (p *parser) conjunction() (node, error) {
	return p.chain("and", p.negation, func(n []node) node { return and(n) })
}

func (p *parser) chain(word string, part func() (node, error), join func([]node) node) (node, error) {
	var parts []node
	for {
		n, err := part()
		if err != nil {
			return nil, err
		}
		parts = append(parts, n)
		if !p.at(tokName, word) {
			break
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return join(parts), nil
}

// negation = [ "not" ] ( "(" disjunction ")" | comparison )
func (p *parser) negation() (node, error) {
	if p.depth++; p.depth > MaxFilterDepth {
		return nil, &SyntaxError{Offset: p.tok.at, Reason: fmt.Sprintf("more than %d levels of parentheses and nots", MaxFilterDepth)}
	}
	defer func() { p.depth-- }()
	switch {
	case p.at(tokName, "not"):
		if err := p.advance(); err != nil {
			return nil, err
		}
		n, err := p.negation()
		if err != nil {
			return nil, err
		}
		return not{n}, nil
	case p.at(tokPunct, "("):
		if err := p.advance(); err != nil {
			return nil, err
		}
		n, err := p.disjunction()
		if err != nil {
			return nil, err
		}
		return n, p.expect(")")
	}
	return p.comparison()
}

// comparison = operand [ operator operand ]; the operand alone must be a truth value
func (p *parser) comparison() (node, error) {
	at := p.tok.at
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	op, ok := operators[p.tok.text]
	if !ok || p.tok.kind != tokPunct {
		switch l := left.(type) {
		case truth:
			return l.node, nil
		case literal:
			if l.kind == kindBool {
				return constant(l.num != 0), nil
			}
		}
		if p.tok.kind == tokEnd || p.tok.kind == tokName {
			return nil, &SyntaxError{Offset: at, Reason: fmt.Sprintf("%q is not a condition, compare it with ==, !=, <, <=, > or >=", p.src[at:p.tokenBefore(at)])}
		}
		return nil, p.unexpected("==, !=, <, <=, > or >=")
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	right, err := p.operand()
	if err != nil {
		return nil, err
	}
	return comparison(left, op, right), nil
}

// tokenBefore returns where the text before the current token ends, blanks left out.
func (p *parser) tokenBefore(from int) int {
	end := p.tok.at
	for end > from && (p.src[end-1] == ' ' || p.src[end-1] == '\t' || p.src[end-1] == '\n' || p.src[end-1] == '\r') {
		end--
	}
	return end
}

const wantOperand = "a path, a value or a function"

// operand = literal | path | function
func (p *parser) operand() (expr, error) {
	tok := p.tok
	switch tok.kind {
	case tokName:
		switch tok.text {
		case "true", "false":
			return literal{boolValue(tok.text == "true")}, p.advance()
		case "nil":
			return literal{}, p.advance()
		case "and", "or", "not":
			return nil, p.unexpected(wantOperand)
		}
		return p.path()
	case tokEnum:
		if err := p.advance(); err != nil {
			return nil, err
		}
		if p.at(tokPunct, "(") {
			return p.call(tok)
		}
		v, ok := enums[tok.text]
		if !ok {
			return nil, &SyntaxError{Offset: tok.at, Reason: fmt.Sprintf("unknown enum %s", tok)}
		}
		return literal{v}, nil
	case tokString, tokInt, tokFloat, tokBytes:
		v, err := constantValue(tok)
		if err != nil {
			return nil, err
		}
		return literal{v}, p.advance()
	}
	return nil, p.unexpected(wantOperand)
}

func constantValue(tok token) (value, error) {
	switch tok.kind {
	case tokString:
		return stringValue(tok.text), nil
	case tokBytes:
		b, err := hex.DecodeString(tok.text)
		if err != nil {
			return value{}, &SyntaxError{Offset: tok.at, Reason: err.Error()}
		}
		return value{kind: kindBytes, raw: b}, nil
	case tokInt:
		if i, err := strconv.ParseInt(tok.text, 10, 64); err == nil {
			return intValue(i), nil
		}
		if u, err := strconv.ParseUint(tok.text, 10, 64); err == nil {
			return uintValue(u), nil
		}
	}
	f, err := strconv.ParseFloat(tok.text, 64)
	if err != nil || math.IsInf(f, 0) {
		return value{}, &SyntaxError{Offset: tok.at, Reason: fmt.Sprintf("%s is not a number", tok)}
	}
	return doubleValue(f), nil
}

// key is one index of a path: ["name"] or [0].
type key struct {
	name    string
	index   int
	isIndex bool
}

// path = name { "." name } { "[" ( string | int ) "]" }
func (p *parser) path() (expr, error) {
	start := p.tok
	name := start.text
	for {
		if err := p.advance(); err != nil {
			return nil, err
		}
		if !p.at(tokPunct, ".") {
			break
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
		if p.tok.kind != tokName && p.tok.kind != tokEnum {
			return nil, p.unexpected("the next name of the path")
		}
		name += "." + p.tok.text
	}
	keys, err := p.keys()
	if err != nil {
		return nil, err
	}
	e, reason := resolve(p.sig, name, keys)
	if reason != "" {
		return nil, &SyntaxError{Offset: start.at, Reason: reason}
	}
	p.use(e)
	return e, nil
}

// use notes the path that e reads.
func (p *parser) use(e expr) {
	switch e := e.(type) {
	case *path:
		p.paths = append(p.paths, e)
	case *elapsed:
		p.paths = append(p.paths, e.start, e.end)
	case call:
		p.use(e.arg)
	}
}

func (p *parser) keys() ([]key, error) {
	var keys []key
	for p.at(tokPunct, "[") {
		if err := p.advance(); err != nil {
			return nil, err
		}
		switch p.tok.kind {
		case tokString:
			keys = append(keys, key{name: p.tok.text})
		case tokInt:
			i, err := strconv.Atoi(p.tok.text)
			if err != nil || i < 0 {
				return nil, p.unexpected("an index from 0")
			}
			keys = append(keys, key{index: i, isIndex: true})
		default:
			return nil, p.unexpected("a key in double quotes or an index")
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
		if err := p.expect("]"); err != nil {
			return nil, err
		}
	}
	return keys, nil
}
