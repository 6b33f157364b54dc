package block

import (
	"math"
	"sort"
	"strings"
	"testing"

	"mira/storage/signal"
)

const wellNamed = "logs/2026-11-30T21/01796074200000000000-01796074259999999999-0a1b2c3d.0.17-000102030405060708090a0b0c0d0e0f.arrow"

func TestNameIsWhatTheBlockIs(t *testing.T) {
	i, err := ParsePath(wellNamed)
	if err != nil {
		t.Fatal(err)
	}
	want := Info{
		ID:   signal.BlockID{Signal: signal.Logs, Node: 0x0a1b2c3d, Seq: 17},
		Min:  1_796_074_200_000_000_000,
		Max:  1_796_074_259_999_999_999,
		Hash: [16]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
	}
	if i != want || i.Path() != wellNamed {
		t.Errorf("got %+v, want %+v", i, want)
	}
}

func TestNamesOfAllTimesComeBack(t *testing.T) {
	var paths []string
	for _, at := range []uint64{0, 1, 1 << 62, math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64} {
		i := Info{ID: signal.BlockID{Signal: signal.Metrics, Shard: math.MaxUint16, Node: math.MaxUint32, Seq: math.MaxUint64}, Min: at, Max: math.MaxUint64}
		paths = append(paths, i.Path())
		if got, err := ParsePath(i.Path()); got != i || err != nil {
			t.Errorf("%s: got %+v, %v", i.Path(), got, err)
		}
	}
	if !sort.StringsAreSorted(paths) {
		t.Errorf("names do not sort by time: %q", paths)
	}
}

func TestHostileNamesAreRefused(t *testing.T) {
	for _, change := range [][2]string{
		{"logs", "profiles"},
		{"logs", "../logs"},
		{"logs/", ""},
		{"logs/", "logs//"},
		{"T21/", "T22/"},
		{"T21/", "T21/../"},
		{"/2026-11-30T21", ""},
		{"01796074200000000000", "1796074200000000000"},
		{"01796074200000000000", "+1796074200000000000"},
		{"01796074200000000000", "01796074260000000000"}, // first after last, same hour
		{"01796074259999999999", "99999999999999999999"},
		{"0a1b2c3d", "0A1B2C3D"},
		{"0a1b2c3d", "a1b2c3d"},
		{".0.17", ".00.17"},
		{".0.17", ".65536.17"},
		{".0.17", ".0.-17"},
		{".0.17", ".0"},
		{"0e0f.", "0e0F."},
		{"0e0f.", "0e."},
		{"0e0f.", "0e0f0f."},
		{"0e0f.", "0e0g."},
		{".arrow", ""},
		{".arrow", ".tmp"},
		{".arrow", ".arrow.arrow"},
		{".arrow", ".arrow\x00"},
		{".arrow", ".arrow/"},
		{wellNamed, ""},
		{wellNamed, "/"},
		{wellNamed, strings.Repeat("-", 1000)},
	} {
		if name := strings.Replace(wellNamed, change[0], change[1], 1); name == wellNamed {
			t.Fatalf("%q changes nothing", change)
		} else if i, err := ParsePath(name); err == nil {
			t.Errorf("%q is taken for %+v", name, i)
		}
	}
}

func FuzzName(f *testing.F) {
	f.Add(wellNamed)
	f.Add(Info{ID: signal.BlockID{Signal: signal.Traces}, Max: math.MaxUint64}.Path())
	f.Fuzz(func(t *testing.T, path string) {
		i, err := ParsePath(path)
		if err == nil && i.Path() != path {
			t.Errorf("%q and %q are the same block", path, i.Path())
		}
	})
}
