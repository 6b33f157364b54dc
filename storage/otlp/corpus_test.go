package otlp

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"
)

// sample appends one message of kind m that holds every field it can hold, in order of their
// numbers, lists with two elements, oneofs with the given member.
func sample(dst []byte, m id, member, depth int) []byte {
	choices := 0
	for num := range schema[m] {
		f := &schema[m][num]
		if f.kind == unknown {
			continue
		}
		if f.is(choice) {
			if choices++; choices != member%5+1 {
				continue
			}
		}
		for range 1 + int(f.role&list) {
			dst = sampleField(dst, num, f, member, depth)
		}
	}
	return dst
}

func sampleField(dst []byte, num int, f *spec, member, depth int) []byte {
	switch f.kind {
	case nested:
		if f.is(deeper) && depth == 0 {
			return AppendBytes(dst, num, "")
		}
		dst, mark := Begin(dst, num)
		if f.is(deeper) {
			depth--
		}
		return End(sample(dst, f.of, member+1, depth), mark)
	case traceID:
		return AppendBytes(dst, num, "0123456789abcdef")
	case spanID:
		return AppendBytes(dst, num, "01234567")
	case text, binaries:
		return AppendBytes(dst, num, f.json)
	case double:
		return AppendFixed64(dst, num, math.Float64bits(1.5))
	}
	switch wires[f.kind] {
	case Fixed32:
		return AppendFixed32(dst, num, 257)
	case Fixed64:
		return AppendFixed64(dst, num, 1<<62+uint64(num))
	}
	return AppendVarint(dst, num, uint64(num)+100)
}

// chain is a request of one record (log record, span or number point) with the given fields.
func chain(m id, record []byte) []byte {
	if m == metricsRequest {
		return AppendBytes(nil, 1, AppendBytes(nil, 2, AppendBytes(nil, 2, AppendBytes(nil, 5, AppendBytes(nil, 1, record)))))
	}
	return AppendBytes(nil, 1, AppendBytes(nil, 2, AppendBytes(nil, 2, record)))
}

// attributesOf is the number of the attributes in the records of chain.
var attributesOf = map[id]int{logsRequest: 6, tracesRequest: 9, metricsRequest: 7}

// tower is an AnyValue of n levels, arrays and maps in turn.
func tower(n int) []byte {
	b := AppendBytes(nil, 1, "top")
	for i := range n {
		if i%2 == 0 {
			b = AppendBytes(nil, 5, AppendBytes(nil, 1, b))
		} else {
			b = AppendBytes(nil, 6, AppendBytes(nil, 1, AppendBytes(AppendBytes(nil, 1, "k"), 2, b)))
		}
	}
	return b
}

// corpus is what the fuzz targets start from: whole requests of every shape, and every corner of
// the encoding that is legal but rare, or nearly legal.
func corpus(m id) [][]byte {
	var out [][]byte
	for member := range 6 {
		out = append(out, sample(nil, m, member, 2))
	}
	a := attributesOf[m]
	value := func(v []byte) []byte {
		return chain(m, AppendBytes(nil, a, AppendBytes(AppendBytes(nil, 1, "k"), 2, v)))
	}
	long := bytes.Repeat([]byte("long"), 100)
	out = append(out,
		nil,
		chain(m, nil),
		value(nil),
		value(AppendBytes(nil, 1, long)),
		value(AppendVarint(nil, 3, math.MaxUint64)),
		value(AppendVarint(AppendBytes(nil, 1, "replaced"), 3, 7)),
		value(AppendBytes(AppendBytes(nil, 5, AppendBytes(nil, 1, "")), 5, AppendBytes(nil, 1, ""))),
		value(tower(1)), value(tower(30)), value(tower(MaxDepth)), value(tower(MaxDepth+1)),
		chain(m, AppendBytes(nil, a, AppendBytes(AppendBytes(nil, 2, AppendVarint(nil, 2, 1)), 1, "value first"))),
		chain(m, AppendBytes(nil, 99, "unknown")),
		chain(m, AppendVarint(AppendFixed32(AppendFixed64(nil, 100, 1), 101, 2), 536870911, 3)),
		chain(m, []byte{0x9b, 0x06, 0x9c, 0x06}),                               // an empty group
		chain(m, []byte{0x9b, 0x06, 0x08, 0x01, 0xa3, 0x06, 0xa4, 0x06, 0x9c}), // cut inside its end
		chain(m, []byte{0x9b, 0x06, 0x08, 0x01, 0x9c, 0x06}),
		chain(m, []byte{0x9b, 0x06, 0x08, 0x01, 0x94, 0x06}),
		chain(m, []byte{0x0c}),
		chain(m, []byte{0x0a, 0x81, 0x00, 'x'}),       // field 1 as bytes, over-long length
		chain(m, []byte{0x8a, 0x80, 0x00, 0x01, 'x'}), // over-long tag
		chain(m, []byte{0xa0, 0x06, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f}),
		chain(m, []byte{0xa0, 0x06, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01}),
		chain(m, []byte{0x8a, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 0x00}), // a field number beyond 32 bits
		chain(m, []byte{0x0f, 0x00}),
		[]byte{0x0a}, []byte{0x0a, 0x05, 0x00}, []byte{0x00}, []byte{0x08, 0x01}, []byte{0xff},
	)
	for num := range width {
		for typ := range Type(6) {
			b := AppendTag(nil, num, typ)
			out = append(out, chain(m, append(b, 8, 1, 2, 3, 4, 5, 6, 7, 8)), chain(m, append(b, 0)))
		}
	}
	if m == metricsRequest {
		out = append(out, metricCorners()...)
	}
	whole := sample(nil, m, 1, 1)
	for cut := 1; cut < len(whole); cut += 7 {
		out = append(out, whole[:cut])
	}
	return out
}

func metricCorners() [][]byte {
	one := func(metric []byte) []byte {
		return AppendBytes(nil, 1, AppendBytes(nil, 2, AppendBytes(nil, 2, metric)))
	}
	points := func(dst []byte, num, n int) []byte {
		return AppendBytes(dst, num, bytes.Repeat([]byte{0x0a, 0}, n))
	}
	var packed []byte
	for v := range uint64(3) {
		packed = binary.LittleEndian.AppendUint64(packed, v)
	}
	histogram := func(point []byte) []byte { return one(AppendBytes(nil, 9, AppendBytes(nil, 1, point))) }
	exponential := func(b []byte) []byte { return one(AppendBytes(nil, 10, AppendBytes(nil, 1, AppendBytes(nil, 8, b)))) }
	return [][]byte{
		one(AppendBytes(nil, 1, "no data")),
		one(points(points(nil, 5, 3), 7, 2)),
		one(points(points(points(nil, 5, 3), 7, 2), 5, 1)),
		one(points(points(nil, 5, 3), 5, 2)),
		one(points(points(nil, 11, 3), 9, 0)),
		histogram(AppendBytes(nil, 6, packed)),
		histogram(AppendFixed64(AppendFixed64(nil, 6, 1), 6, 2)),
		histogram(AppendFixed64(AppendBytes(nil, 7, packed), 7, 2)),
		histogram(AppendBytes(nil, 6, packed[:23])),
		histogram(AppendVarint(nil, 6, 1)),
		exponential(AppendBytes(nil, 2, []byte{1, 2, 0x80, 0x01})),
		exponential(AppendVarint(AppendVarint(nil, 2, 1), 2, 1<<63)),
		exponential(AppendBytes(nil, 2, []byte{1, 2, 0x80})),
		exponential(AppendFixed64(nil, 2, 1)),
	}
}

func TestSamplesHoldEveryField(t *testing.T) {
	for m := range roots {
		if n, err := check(sample(nil, m, 1, 2), m); n == 0 || err != nil {
			t.Errorf("sample %d: %d records, %v", m, n, err)
		}
	}
}
