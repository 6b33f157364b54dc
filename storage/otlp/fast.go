package otlp

// The tags of a log record, an attribute and a value as canonical encoders write them. These
// three messages are nearly all of a request; the walk knows them by heart and leaves what it
// does not recognise to the table.
const (
	tagTime         = 1<<3 | byte(Fixed64)
	tagSeverity     = 2<<3 | byte(Varint)
	tagSeverityText = 3<<3 | byte(Bytes)
	tagBody         = 5<<3 | byte(Bytes)
	tagAttributes   = 6<<3 | byte(Bytes)
	tagFlags        = 8<<3 | byte(Fixed32)
	tagTraceID      = 9<<3 | byte(Bytes)
	tagSpanID       = 10<<3 | byte(Bytes)
	tagObserved     = 11<<3 | byte(Fixed64)
	tagEventName    = 12<<3 | byte(Bytes)

	tagKey   = 1<<3 | byte(Bytes)
	tagValue = 2<<3 | byte(Bytes)

	tagString = 1<<3 | byte(Bytes)
	tagBool   = 2<<3 | byte(Varint)
	tagInt    = 3<<3 | byte(Varint)
	tagDouble = 4<<3 | byte(Fixed64)
	tagBytes  = 7<<3 | byte(Bytes)
)

// logRecord checks b[i:] as a LogRecord.
func (w *walk) logRecord(b []byte, i int) bool {
	for i < len(b) {
		next := plainField(b, i)
		if next < 0 {
			if next = w.field(b, i, logRecord, 0); next < 0 {
				return false
			}
		}
		i = next
	}
	return true
}

// plainField returns where the field of a LogRecord at b[i] ends, or -1 when the field needs a
// closer look: it may well be legal.
func plainField(b []byte, i int) int {
	next := -1
	switch b[i] {
	case tagTime, tagObserved:
		next = i + 9
	case tagFlags:
		next = i + 5
	case tagSeverity:
		if i+1 < len(b) && b[i+1] < 0x80 {
			next = i + 2
		}
	case tagTraceID:
		if i+1 < len(b) && b[i+1] == 16 {
			next = i + 2 + 16
		}
	case tagSpanID:
		if i+1 < len(b) && b[i+1] == 8 {
			next = i + 2 + 8
		}
	case tagSeverityText, tagEventName:
		_, next = Len(b, i+1)
	case tagAttributes:
		start, end := Len(b, i+1)
		if end >= 0 && plainAttribute(b[:end], start) {
			next = end
		}
	case tagBody:
		start, end := Len(b, i+1)
		if end >= 0 && plainValue(b[:end], start) {
			next = end
		}
	}
	if next > len(b) {
		return -1
	}
	return next
}

// plainAttribute reports whether b[i:] is a key and a plain value, in this order, and nothing
// else. It looks at a few bytes only, so that asking it first costs next to nothing.
func plainAttribute(b []byte, i int) bool {
	if i+2 > len(b) || b[i] != tagKey || b[i+1] >= 0x80 {
		return false
	}
	i += 2 + int(b[i+1])
	if i >= len(b) || b[i] != tagValue {
		return false
	}
	start, end := Len(b, i+1)
	return end == len(b) && plainValue(b, start)
}

// plainValue reports whether b[i:] is an AnyValue of one string, number, truth or bytes.
func plainValue(b []byte, i int) bool {
	if i+2 > len(b) {
		return false
	}
	end := 0
	switch b[i] {
	case tagString, tagBytes:
		_, end = Len(b, i+1)
	case tagBool, tagInt:
		_, end = Uvarint(b, i+1)
	case tagDouble:
		end = i + 9
	}
	return end == len(b)
}
