package block

import (
	flatbuffers "github.com/google/flatbuffers/go"

	"mira/storage/column"
)

// The numbers of Arrow's flatbuffers that blocks use. The slots of a table are written and read
// by their number, beside its name.
const (
	metadataV5 = 4

	headerSchema     = 1
	headerDictionary = 2
	headerBatch      = 3

	typeInt       = 2
	typeFloat     = 3
	typeBinary    = 4
	typeUtf8      = 5
	typeBool      = 6
	typeTimestamp = 10
	typeList      = 12
	typeStruct    = 13
	typeFixed     = 15

	precisionDouble = 2
	unitNanosecond  = 3
	codecZstd       = 1

	nodeSize   = 16 // FieldNode: length, null count
	bufferSize = 16 // Buffer: offset, length
	blockSize  = 24 // Block: offset, metadata length, 4 bytes of nothing, body length
)

// node is an Arrow FieldNode.
type node struct{ rows, nulls int64 }

// span is an Arrow Buffer: a place in the body of a message.
type span struct{ at, size int64 }

// message is an Arrow Block: where a message is in the file.
type message struct{ at, meta, body int64 }

// meta writes Arrow metadata. Everything is written back to front, as flatbuffers want it.
type meta struct{ *flatbuffers.Builder }

type offset = flatbuffers.UOffsetT

// pairs writes KeyValue tables, leaving out those with an empty value.
func (m meta) pairs(kv ...string) offset {
	var at []offset
	for i := 0; i < len(kv); i += 2 {
		if kv[i+1] == "" {
			continue
		}
		key, value := m.CreateString(kv[i]), m.CreateString(kv[i+1])
		m.StartObject(2)
		m.PrependUOffsetTSlot(0, key, 0)
		m.PrependUOffsetTSlot(1, value, 0)
		at = append(at, m.EndObject())
	}
	return m.tables(at)
}

// tables writes a vector of tables.
func (m meta) tables(at []offset) offset {
	m.StartVector(flatbuffers.SizeUOffsetT, len(at), flatbuffers.SizeUOffsetT)
	for i := len(at) - 1; i >= 0; i-- {
		m.PrependUOffsetT(at[i])
	}
	return m.EndVector(len(at))
}

// schema writes a Schema table.
func (m meta) schema(fields []field, block string) offset {
	var ids int64
	kids := m.fields(fields, &ids)
	about := m.pairs(keyFormat, formatNow, keyBlock, block)
	m.StartObject(4)
	m.PrependInt16Slot(0, 0, 0) // endianness: little
	m.PrependUOffsetTSlot(1, kids, 0)
	m.PrependUOffsetTSlot(2, about, 0)
	return m.EndObject()
}

// fields writes Field tables; ids counts the dictionaries.
func (m meta) fields(fields []field, ids *int64) offset {
	at := make([]offset, len(fields))
	for i := range fields {
		at[i] = m.field(&fields[i], ids)
	}
	return m.tables(at)
}

// field writes a Field table.
func (m meta) field(f *field, ids *int64) offset {
	c := f.col
	id := *ids
	if f.dict {
		*ids++
	}
	kids := m.fields(f.kids, ids)
	name := m.CreateString(fieldName(c))
	about := m.pairs(keyLevel, levelWords[c.Level], keyKind, kindWords[c.Kind], keyKey, c.Key)
	var dict offset
	if f.dict {
		dict = m.dictionary(id, f.width)
	}
	code, kind := m.kind(f)
	m.StartObject(7)
	m.PrependUOffsetTSlot(0, name, 0)
	m.PrependBoolSlot(1, true, false) // nullable
	m.PrependByteSlot(2, code, 0)     // type, which
	m.PrependUOffsetTSlot(3, kind, 0) // type, the table
	m.PrependUOffsetTSlot(4, dict, 0)
	m.PrependUOffsetTSlot(5, kids, 0)
	m.PrependUOffsetTSlot(6, about, 0)
	return m.EndObject()
}

// fieldName gives the nameless elements of a list the name that Arrow gives them.
func fieldName(c *column.Column) string {
	if c.Name == "" {
		return "item"
	}
	return c.Name
}

// dictionary writes a DictionaryEncoding table.
func (m meta) dictionary(id int64, width int) offset {
	index := m.integer(width, true)
	m.StartObject(4)
	m.PrependInt64Slot(0, id, 0)
	m.PrependUOffsetTSlot(1, index, 0)
	return m.EndObject()
}

// integer writes an Int table.
func (m meta) integer(width int, signed bool) offset {
	m.StartObject(2)
	m.PrependInt32Slot(0, int32(8*width), 0)
	m.PrependBoolSlot(1, signed, false)
	return m.EndObject()
}

// kind writes the member of the Type union that fits the field.
func (m meta) kind(f *field) (code byte, at offset) {
	switch f.col.Type {
	case column.Int:
		return typeInt, m.integer(f.width, true)
	case column.Uint:
		return typeInt, m.integer(f.width, false)
	case column.Time:
		zone := m.CreateString("UTC")
		m.StartObject(2)
		m.PrependInt16Slot(0, unitNanosecond, 0)
		m.PrependUOffsetTSlot(1, zone, 0)
		return typeTimestamp, m.EndObject()
	case column.Double:
		m.StartObject(1)
		m.PrependInt16Slot(0, precisionDouble, 0)
		return typeFloat, m.EndObject()
	case column.Fixed:
		m.StartObject(1)
		m.PrependInt32Slot(0, int32(f.col.Width), 0)
		return typeFixed, m.EndObject()
	}
	m.StartObject(0)
	return plainTypes[f.col.Type], m.EndObject()
}

// plainTypes are the members of the Type union without parameters.
var plainTypes = [...]byte{
	column.Bool: typeBool, column.String: typeUtf8, column.Bytes: typeBinary,
	column.List: typeList, column.Struct: typeStruct,
}

// batch writes a RecordBatch table, of buffers that may be compressed or are not.
func (m meta) batch(rows int64, nodes []node, buffers []span, compressed bool) offset {
	m.StartVector(bufferSize, len(buffers), 8)
	for i := len(buffers) - 1; i >= 0; i-- {
		m.PrependInt64(buffers[i].size)
		m.PrependInt64(buffers[i].at)
	}
	places := m.EndVector(len(buffers))
	m.StartVector(nodeSize, len(nodes), 8)
	for i := len(nodes) - 1; i >= 0; i-- {
		m.PrependInt64(nodes[i].nulls)
		m.PrependInt64(nodes[i].rows)
	}
	counts := m.EndVector(len(nodes))
	var squeezed offset
	if compressed {
		m.StartObject(2)
		m.PrependInt8Slot(0, codecZstd, 0)
		squeezed = m.EndObject()
	}
	m.StartObject(5)
	m.PrependInt64Slot(0, rows, 0)
	m.PrependUOffsetTSlot(1, counts, 0)
	m.PrependUOffsetTSlot(2, places, 0)
	m.PrependUOffsetTSlot(3, squeezed, 0)
	return m.EndObject()
}

// dictionaryBatch writes a DictionaryBatch table around a RecordBatch.
func (m meta) dictionaryBatch(id int64, batch offset) offset {
	m.StartObject(3)
	m.PrependInt64Slot(0, id, 0)
	m.PrependUOffsetTSlot(1, batch, 0)
	return m.EndObject()
}

// message finishes a Message table and returns the bytes, which the next Reset invalidates.
func (m meta) message(code byte, header offset, body int64) []byte {
	m.StartObject(5)
	m.PrependInt16Slot(0, metadataV5, 0)
	m.PrependByteSlot(1, code, 0)
	m.PrependUOffsetTSlot(2, header, 0)
	m.PrependInt64Slot(3, body, 0)
	m.Finish(m.EndObject())
	return m.FinishedBytes()
}

// footer finishes a Footer table and returns the bytes, which the next Reset invalidates.
func (m meta) footer(schema offset, dicts, groups []message) []byte {
	g := m.messages(groups)
	d := m.messages(dicts)
	m.StartObject(5)
	m.PrependInt16Slot(0, metadataV5, 0)
	m.PrependUOffsetTSlot(1, schema, 0)
	m.PrependUOffsetTSlot(2, d, 0)
	m.PrependUOffsetTSlot(3, g, 0)
	m.Finish(m.EndObject())
	return m.FinishedBytes()
}

// messages writes a vector of Block structs.
func (m meta) messages(list []message) offset {
	m.StartVector(blockSize, len(list), 8)
	for i := len(list) - 1; i >= 0; i-- {
		m.PrependInt64(list[i].body)
		m.Pad(4)
		m.PrependInt32(int32(list[i].meta))
		m.PrependInt64(list[i].at)
	}
	return m.EndVector(len(list))
}
