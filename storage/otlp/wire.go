package otlp

import "encoding/binary"

// Type is the wire type of a protobuf field: how its bytes are delimited.
type Type uint8

// The wire types. EndGroup only ever closes a StartGroup; Field never returns it.
const (
	Varint     Type = 0
	Fixed64    Type = 1
	Bytes      Type = 2
	StartGroup Type = 3
	EndGroup   Type = 4
	Fixed32    Type = 5
)

const (
	maxNumber = 1<<29 - 1 // the largest field number protobuf knows
	maxGroups = 100       // groups inside groups that are skipped; OTLP has none at all
)

// Field reads the field that starts at b[i]; the next one starts at next.
//
// For Varint, Fixed64 and Fixed32, val is the value, bit for bit. For Bytes the content is
// b[val:next], which is the same memory. A group (OTLP has none, so it is always an unknown
// field) is one field as a whole, up to and including its end.
//
// When b[i:] does not begin with a whole, legal field, next is -1; i at or past the end of b is
// such a case too. So a walk over a message reads
//
//	for i := 0; uint(i) < uint(len(b)); {
//		num, typ, val, next := otlp.Field(b, i)
//		switch num { ... }
//		i = next
//	}
//
// and stops by itself on bytes nobody has checked. On input that Check accepted next is never
// -1, and num alone tells the type: a known field has its declared wire type there (a repeated
// scalar its own type or, packed, Bytes).
func Field(b []byte, i int) (num int, typ Type, val uint64, next int) {
	if uint(i) < uint(len(b)) {
		tag := b[i] // canonical encoders write one-byte tags for all but one field of OTLP
		if tag-8 < 0x78 {
			switch Type(tag & 7) {
			case Bytes:
				if i+1 < len(b) && b[i+1] < 0x80 {
					start := i + 2
					if end := start + int(b[i+1]); end <= len(b) {
						return int(tag >> 3), Bytes, uint64(start), end
					}
				}
			case Varint:
				if i+1 < len(b) && b[i+1] < 0x80 {
					return int(tag >> 3), Varint, uint64(b[i+1]), i + 2
				}
			case Fixed64:
				if i+9 <= len(b) {
					return int(tag >> 3), Fixed64, binary.LittleEndian.Uint64(b[i+1:]), i + 9
				}
			}
		}
	}
	return field(b, i)
}

// field is Field without the short way.
func field(b []byte, i int) (num int, typ Type, val uint64, next int) {
	num, typ, i = Tag(b, i)
	if i < 0 {
		return 0, 0, 0, -1
	}
	val, next = value(b, i, num, typ)
	return num, typ, val, next
}

// value reads what follows the tag of a field.
func value(b []byte, i, num int, typ Type) (val uint64, next int) {
	switch typ {
	case Varint:
		return Uvarint(b, i)
	case Fixed64:
		if len(b)-i >= 8 {
			return binary.LittleEndian.Uint64(b[i:]), i + 8
		}
	case Fixed32:
		if len(b)-i >= 4 {
			return uint64(binary.LittleEndian.Uint32(b[i:])), i + 4
		}
	case Bytes:
		start, end := Len(b, i)
		return uint64(start), end
	case StartGroup:
		return uint64(i), skipGroup(b, i, num, 1)
	}
	return 0, -1
}

// skipGroup returns where the group with this number ends whose content starts at b[i], or -1.
func skipGroup(b []byte, i, group, depth int) int {
	for depth <= maxGroups {
		num, typ, next := Tag(b, i)
		switch {
		case next < 0:
			return -1
		case typ == EndGroup:
			if num != group {
				return -1
			}
			return next
		case typ == StartGroup:
			i = skipGroup(b, next, num, depth+1)
		default:
			_, i = value(b, next, num, typ)
		}
		if i < 0 {
			return -1
		}
	}
	return -1
}

// Tag reads the tag at b[i]: field number, wire type (EndGroup included) and where its value
// starts, or next -1 when there is no legal tag.
func Tag(b []byte, i int) (num int, typ Type, next int) {
	v, next := Uvarint(b, i)
	if next < 0 || v>>3 == 0 || v>>3 > maxNumber || v&7 > 5 {
		return 0, 0, -1
	}
	return int(v >> 3), Type(v & 7), next
}

// Len reads the length at b[i] and returns the bounds of the content behind it, or end -1 when
// the content would not lie inside b.
func Len(b []byte, i int) (start, end int) {
	n, start := Uvarint(b, i)
	if start < 0 || n > uint64(len(b)-start) {
		return 0, -1
	}
	return start, start + int(n)
}

// Uvarint reads the varint at b[i], or returns next -1 when it does not end inside b or has bits
// beyond the 64th. Like every protobuf reader it takes encodings that are longer than they need
// be. Other languages drop bits beyond the 64th; Go's protobuf does not, and what is stored must
// be fit to be read by all.
func Uvarint(b []byte, i int) (v uint64, next int) {
	if uint(i) < uint(len(b)) && b[i] < 0x80 {
		return uint64(b[i]), i + 1
	}
	return uvarint(b, i)
}

func uvarint(b []byte, i int) (v uint64, next int) {
	if i < 0 {
		return 0, -1
	}
	for shift := uint(0); shift < 63 && i < len(b); shift += 7 {
		c := b[i]
		i++
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, i
		}
	}
	if i < len(b) && b[i] <= 1 {
		return v | uint64(b[i])<<63, i + 1
	}
	return 0, -1
}

// Zigzag undoes the encoding of sint32 and sint64.
func Zigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// AppendTag appends the tag of a field.
func AppendTag(dst []byte, num int, typ Type) []byte {
	return binary.AppendUvarint(dst, uint64(num)<<3|uint64(typ))
}

// AppendVarint appends a Varint field.
func AppendVarint(dst []byte, num int, v uint64) []byte {
	return binary.AppendUvarint(AppendTag(dst, num, Varint), v)
}

// AppendFixed64 appends a Fixed64 field.
func AppendFixed64(dst []byte, num int, v uint64) []byte {
	return binary.LittleEndian.AppendUint64(AppendTag(dst, num, Fixed64), v)
}

// AppendFixed32 appends a Fixed32 field.
func AppendFixed32(dst []byte, num int, v uint32) []byte {
	return binary.LittleEndian.AppendUint32(AppendTag(dst, num, Fixed32), v)
}

// AppendBytes appends a Bytes field: a string, bytes, or a message already encoded.
func AppendBytes[T ~string | ~[]byte](dst []byte, num int, v T) []byte {
	dst = binary.AppendUvarint(AppendTag(dst, num, Bytes), uint64(len(v)))
	return append(dst, v...)
}

// Begin appends the tag of a Bytes field whose content is appended next, and End, with the mark
// Begin returned, puts the content's length in front of it. They nest.
func Begin(dst []byte, num int) (_ []byte, mark int) {
	dst = append(AppendTag(dst, num, Bytes), 0)
	return dst, len(dst)
}

// End finishes what Begin began. Content of 128 bytes and more is moved to make room.
func End(dst []byte, mark int) []byte {
	n := len(dst) - mark
	if n < 0x80 {
		dst[mark-1] = byte(n)
		return dst
	}
	var head [binary.MaxVarintLen64]byte
	w := binary.PutUvarint(head[:], uint64(n))
	dst = append(dst, head[:w-1]...) // grows by w-1; what is appended is overwritten below
	copy(dst[mark-1+w:], dst[mark:mark+n])
	copy(dst[mark-1:], head[:w])
	return dst
}
