package otlp

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
)

// LogsFromJSON appends to dst the request that body, an OTLP/JSON document, stands for. What it
// appends passes CheckLogs. The error is an *Error; known tells whether the document has at least
// one member that a request can have, since one that has none was hardly meant for us.
//
// The mapping is protobuf's, with OTLP's deviations, taken literally:
//
//   - Names are lowerCamelCase. Any other name is unknown, and ignored with its value.
//   - A known name twice in one object is refused, and so are two members of a oneof.
//   - null is the default or, in a oneof, nothing; it is no element of a list.
//   - Ids are hexadecimal digits in any case, in full, or empty.
//   - Enums are integers, known or not; their names are refused.
//   - Integers are numbers or strings, whole and in range. 1e3 is whole.
//   - Doubles are numbers or strings, NaN, Infinity and -Infinity among them.
//   - Bytes are base64 in either alphabet, padded or not.
//   - The body is one object and nothing else.
func LogsFromJSON(dst, body []byte) (pb []byte, known bool, err error) {
	return fromJSON(dst, body, logsRequest)
}

// TracesFromJSON is LogsFromJSON for spans.
func TracesFromJSON(dst, body []byte) (pb []byte, known bool, err error) {
	return fromJSON(dst, body, tracesRequest)
}

// MetricsFromJSON is LogsFromJSON for metrics.
func MetricsFromJSON(dst, body []byte) (pb []byte, known bool, err error) {
	return fromJSON(dst, body, metricsRequest)
}

func fromJSON(dst, body []byte, m id) (pb []byte, known bool, err error) {
	r := reader{lexer: lexer{b: body}, dst: dst}
	seen, ok := r.object(m, 0)
	if ok && (r.peek() != 0 || r.i < len(r.b)) {
		ok = r.refuse(r.i, "something after the end of the object")
	}
	if !ok {
		slices.Reverse(r.path)
		return dst, false, &Error{Offset: r.offset, Reason: place(r.path) + r.reason}
	}
	r.settle()
	return r.dst, seen != 0, nil
}

// A reader turns one JSON document into a message, appending to dst as it reads.
//
// The length of a message is known at its end only, and takes up to five bytes at its beginning.
// One is kept; settle makes room for the others, moving every byte once, however deep it lies.
type reader struct {
	lexer
	dst   []byte
	gaps  []gap
	extra int // how much settle will add to dst
}

// A gap is a place where one byte was kept for a length that takes more.
type gap struct{ at, length int }

// A begun message has its content from dst[at] on; what was extra then lies before it.
type begun struct{ at, extra int }

func (r *reader) begin(num int) begun {
	dst, at := Begin(r.dst, num)
	r.dst = dst
	return begun{at, r.extra}
}

func (r *reader) end(m begun) {
	n := len(r.dst) - m.at + r.extra - m.extra
	if n < 0x80 {
		r.dst[m.at-1] = byte(n)
		return
	}
	r.gaps = append(r.gaps, gap{m.at - 1, n})
	r.extra += (bits.Len(uint(n))+6)/7 - 1
}

// settle writes the lengths that are missing, from the last to the first.
func (r *reader) settle() {
	slices.SortFunc(r.gaps, func(a, b gap) int { return a.at - b.at })
	src := len(r.dst)
	dst := slices.Grow(r.dst, r.extra)[:src+r.extra]
	end := len(dst) // where what ends at src belongs
	for _, g := range slices.Backward(r.gaps) {
		end -= copy(dst[end-(src-g.at-1):end], dst[g.at+1:src])
		var length [binary.MaxVarintLen64]byte
		w := binary.PutUvarint(length[:], uint64(g.length))
		end -= copy(dst[end-w:end], length[:w])
		src = g.at
	}
	r.dst = dst
}

// object reads an object as a message of kind m, depth levels deep in an AnyValue. A bit of seen
// is a field number.
func (r *reader) object(m id, depth int) (seen uint32, ok bool) {
	if !r.want('{', "an object") {
		return 0, false
	}
	chosen, num := false, 0
	for first := true; ; first = false {
		more, ok := r.more('}', first)
		if !more {
			return seen, ok
		}
		at := r.i
		name, ok := r.name()
		if !ok {
			return 0, false
		}
		n := find(m, name, num+1)
		if n == 0 {
			if !r.skip() {
				return 0, false
			}
			continue
		}
		num = n
		f := &schema[m][num]
		if seen&(1<<num) != 0 {
			r.refuse(at, "the name stands twice in one object")
			return 0, r.in(f.json)
		}
		seen |= 1 << num
		if r.null() {
			continue
		}
		if f.is(choice) && chosen {
			r.refuse(at, "another member of the same oneof is set already")
			return 0, r.in(f.json)
		}
		chosen = chosen || f.is(choice)
		if !r.member(num, f, depth) {
			return 0, false
		}
	}
}

// find returns the number of the field with this JSON name, or 0. It looks at number likely
// first: most writers write fields in order.
func find(m id, name []byte, likely int) int {
	for k := range width {
		num := (likely + k) % width
		if string(name) == schema[m][num].json && len(name) > 0 {
			return num
		}
	}
	return 0
}

// in adds the name of a member to the path of what was refused.
func (r *reader) in(name string) bool {
	r.path = append(r.path, name)
	return false
}

// member reads the value of field num, which is not null.
func (r *reader) member(num int, f *spec, depth int) bool {
	if !f.is(list) {
		return r.single(num, f, depth) || r.in(f.json)
	}
	if !r.want('[', "an array") {
		return r.in(f.json)
	}
	start, m := len(r.dst), begun{}
	if f.packable() {
		m = r.begin(num)
	}
	for n := 0; ; n++ {
		more, ok := r.more(']', n == 0)
		switch {
		case !ok:
			return r.in(f.json)
		case !more && !f.packable():
			return true
		case !more && n == 0:
			r.dst = r.dst[:start]
			return true
		case !more:
			r.end(m)
			return true
		}
		if !r.element(num, f, depth) {
			return r.in(f.json + "[" + strconv.Itoa(n) + "]")
		}
	}
}

func (r *reader) element(num int, f *spec, depth int) bool {
	if r.peek() == 'n' {
		return r.refuse(r.i, "null is no element of a list")
	}
	if !f.packable() {
		return r.single(num, f, depth)
	}
	v, ok := r.number64(f.kind)
	r.dst = appendValue(r.dst, wires[f.kind], v)
	return ok
}

// single reads one value and appends it as field num. A default that means nothing is left out.
func (r *reader) single(num int, f *spec, depth int) bool {
	keep := f.is(list | choice | optional)
	switch f.kind {
	case nested:
		if f.is(deeper) {
			if depth++; depth > MaxDepth {
				return r.refuse(r.i, fmt.Sprintf("arrays and maps nested more than %d deep", MaxDepth))
			}
		}
		m := r.begin(num)
		_, ok := r.object(f.of, depth)
		r.end(m)
		return ok
	case text:
		s, ok := r.text()
		if ok && (keep || len(s) > 0) {
			r.dst = AppendBytes(r.dst, num, s)
		}
		return ok
	case binaries:
		return r.base64(num, keep)
	case traceID:
		return r.id(num, 16)
	case spanID:
		return r.id(num, 8)
	}
	v, ok := r.number64(f.kind)
	if ok && (keep || v != 0) {
		r.dst = appendValue(AppendTag(r.dst, num, wires[f.kind]), wires[f.kind], v)
	}
	return ok
}

func appendValue(dst []byte, typ Type, v uint64) []byte {
	switch typ {
	case Fixed32:
		return binary.LittleEndian.AppendUint32(dst, uint32(v))
	case Fixed64:
		return binary.LittleEndian.AppendUint64(dst, v)
	}
	return binary.AppendUvarint(dst, v)
}

// id reads an id of size bytes: all its hexadecimal digits, or none.
func (r *reader) id(num, size int) bool {
	r.peek()
	at := r.i
	s, ok := r.text()
	if !ok || len(s) == 0 {
		return ok
	}
	r.dst = AppendTag(r.dst, num, Bytes)
	r.dst = append(r.dst, byte(size))
	for k := 0; k < size && len(s) == 2*size; k++ {
		high, low := hexDigit(s[2*k]), hexDigit(s[2*k+1])
		if high|low > 15 {
			break
		}
		if r.dst = append(r.dst, high<<4|low); k == size-1 {
			return true
		}
	}
	const rule = "want %d bytes as %d hex digits (traceId, spanId and parentSpanId are hexadecimal, not base64)"
	return r.refuse(at, fmt.Sprintf(rule, size, 2*size))
}

// base64 reads bytes in either alphabet, padded or not.
func (r *reader) base64(num int, keep bool) bool {
	r.peek()
	at := r.i
	s, ok := r.text()
	if !ok || len(s) == 0 && !keep {
		return ok
	}
	enc := base64.StdEncoding
	if bytes.ContainsAny(s, "-_") {
		enc = base64.URLEncoding
	}
	if len(s)%4 != 0 {
		enc = enc.WithPadding(base64.NoPadding)
	}
	m := r.begin(num)
	dst, err := enc.AppendDecode(r.dst, s)
	if err != nil {
		return r.refuse(at, "want bytes in base64")
	}
	r.dst = dst
	r.end(m)
	return true
}

// number64 reads a value of a kind that is neither a message nor a string and returns its bits
// as the wire carries them.
func (r *reader) number64(k kind) (v uint64, ok bool) {
	c := r.peek()
	at := r.i
	if k == boolean {
		if c != 't' && c != 'f' {
			return 0, r.refuse(at, "want true or false")
		}
		if c == 't' {
			v = 1
		}
		return v, r.scalar(c)
	}
	s, ok := r.digits(c, k)
	if !ok {
		return 0, false
	}
	if k == double {
		v, ok = float(s)
	} else {
		v, ok = whole(s, k)
	}
	if !ok {
		return 0, r.refuse(at, "want "+wanted[k])
	}
	return v, true
}

var wanted = [...]string{
	int32s: "an integer of 32 bits", sint32s: "an integer of 32 bits", enum: "an enum value as an integer of 32 bits",
	uint32s: "an unsigned integer of 32 bits", fixed32s: "an unsigned integer of 32 bits",
	int64s: "an integer of 64 bits", sfixed64s: "an integer of 64 bits",
	uint64s: "an unsigned integer of 64 bits", fixed64s: "an unsigned integer of 64 bits",
	double: "a number of 64 bits, NaN, Infinity or -Infinity",
}

// digits reads a number, or a string that should hold one. An enum in a string is its name, even
// when that looks like a number.
func (r *reader) digits(c byte, k kind) (s []byte, ok bool) {
	switch {
	case c == '"' && k != enum:
		return r.text()
	case c == '-', '0' <= c && c <= '9':
		return r.number()
	}
	return nil, r.refuse(r.i, "want "+wanted[k])
}

func float(s []byte) (v uint64, ok bool) {
	switch string(s) {
	case "NaN":
		return math.Float64bits(math.NaN()), true
	case "Infinity":
		return math.Float64bits(math.Inf(1)), true
	case "-Infinity":
		return math.Float64bits(math.Inf(-1)), true
	}
	d, err := strconv.ParseFloat(string(s), 64)
	return math.Float64bits(d), err == nil && numberLen(s) == len(s)
}

func whole(s []byte, k kind) (v uint64, ok bool) {
	if len(s) == 0 || numberLen(s) != len(s) {
		return 0, false
	}
	negative, v, ok := integer(s)
	if !ok {
		return 0, false
	}
	signed := int64(v)
	if negative {
		signed = -signed
	}
	switch k {
	case uint64s, fixed64s:
		return v, !negative || v == 0
	case uint32s, fixed32s:
		return v, v <= math.MaxUint32 && (!negative || v == 0)
	}
	if v != 0 && negative != (signed < 0) {
		return 0, false // beyond the range of int64
	}
	switch k {
	case int64s, sfixed64s:
		return uint64(signed), true
	case sint32s:
		return uint64(uint32(signed<<1 ^ signed>>31)), signed == int64(int32(signed))
	}
	return uint64(signed), signed == int64(int32(signed))
}
