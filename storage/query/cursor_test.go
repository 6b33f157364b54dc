package query

import (
	"errors"
	"math"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"mira/storage/signal"
)

func plogTime(ns uint64) pcommon.Timestamp { return pcommon.Timestamp(ns) }

func TestCursorComesBackAsItWas(t *testing.T) {
	of := FingerprintOf("logs", "desc", "", "-1h")
	c := Cursor{Fingerprint: of, Start: 1, End: math.MaxUint64, After: Position{
		Time: 5, Row: math.MaxInt32, Block: signal.BlockID{Signal: signal.Logs, Node: 7, Shard: 3, Seq: 1 << 40},
	}}
	got, err := ParseCursor(c.String(), signal.Logs, of)
	if err != nil || got != c {
		t.Errorf("got %+v, %v, want %+v", got, err, c)
	}
}

func TestForeignCursorsAreRefused(t *testing.T) {
	of := FingerprintOf("logs", "desc")
	good := Cursor{Fingerprint: of}.String()
	for _, c := range []struct {
		name, text string
		want       error
	}{
		{"other question", Cursor{Fingerprint: FingerprintOf("logs", "asc")}.String(), ErrCursorQuery},
		{"other version", "AA" + good[2:], ErrCursorVersion},
		{"cut", good[:len(good)-4], ErrCursor},
		{"longer", good + "AAAA", ErrCursor},
		{"not base64", "%%%", ErrCursor},
		{"huge", strings.Repeat("A", 1<<16), ErrCursorVersion},
	} {
		if _, err := ParseCursor(c.text, signal.Logs, of); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
}

func TestPartsOfAQuestionDoNotRunTogether(t *testing.T) {
	if FingerprintOf("a", "bc") == FingerprintOf("ab", "c") {
		t.Error("two questions have one fingerprint")
	}
}
