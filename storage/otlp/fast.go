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
	if i+1 >= len(b) {
		return -1
	}
	next := -1
	start, end := i+2, i+2+int(b[i+1]) // of a string or message of less than 128 bytes
	switch b[i] {
	case tagTime, tagObserved:
		next = i + 9
	case tagAttributes:
		if b[i+1] < 0x80 && end <= len(b) && plainAttribute(b[start:end]) {
			next = end
		}
	case tagBody:
		if b[i+1] >= 0x80 {
			start, end = Len(b, i+1)
		}
		if uint(end) <= uint(len(b)) && plainValue(b[start:end]) {
			next = end
		}
	case tagSeverity:
		if b[i+1] < 0x80 {
			next = i + 2
		}
	case tagSeverityText, tagEventName:
		if b[i+1] < 0x80 {
			next = end
		}
	case tagTraceID:
		if b[i+1] == 16 {
			next = end
		}
	case tagSpanID:
		if b[i+1] == 8 {
			next = end
		}
	case tagFlags:
		next = i + 5
	}
	if next > len(b) {
		return -1
	}
	return next
}

// plainAttribute reports whether b is a key and a plain value, in this order, and nothing else.
// It looks at a few bytes only, so that asking it first costs next to nothing.
func plainAttribute(b []byte) bool {
	if len(b) < 2 || b[0] != tagKey || b[1] >= 0x80 {
		return false
	}
	i := 2 + int(b[1])
	if i+2 > len(b) || b[i] != tagValue {
		return false
	}
	if n := int(b[i+1]); n < 0x80 {
		return i+2+n == len(b) && plainValue(b[i+2:])
	}
	start, end := Len(b, i+1)
	return end == len(b) && plainValue(b[start:])
}

// plainValue reports whether b is an AnyValue of one string, number, truth or bytes.
func plainValue(b []byte) bool {
	if len(b) < 2 {
		return false
	}
	end := 0
	switch b[0] {
	case tagString, tagBytes:
		if end = 2 + int(b[1]); b[1] >= 0x80 {
			_, end = Len(b, 1)
		}
	case tagBool, tagInt:
		if end = 2; b[1] >= 0x80 {
			_, end = Uvarint(b, 1)
		}
	case tagDouble:
		end = 9
	}
	return end == len(b)
}
