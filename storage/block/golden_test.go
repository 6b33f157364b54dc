package block

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"mira/storage/column"
)

var update = flag.Bool("update", false, "write the golden files anew")

const golden = "testdata/block-1.txt"

// goldenTable is a table of three log records.
func goldenTable() *column.Table {
	record := func(c column.Column) column.Column { c.Level = column.LevelRecord; return c }
	const at = 1_796_074_200_000_000_000
	service := column.Column{
		Name: "resource.attributes.service.name", Level: column.LevelResource, Kind: column.KindString, Key: "service.name",
		Type: column.String, Len: 3, Index: []int32{0, 0, 1},
		Dict: &column.Dict{Offsets: []int32{0, 4, 8}, Data: []byte("cartshop")},
	}
	return &column.Table{Rows: 3, Columns: []column.Column{
		record(ints("time_unix_nano", column.Time, nil, at, at+1, at+2)),
		record(thin(ints("severity_number", column.Int, nullEvery(3, 3), 9, 17, 0))),
		record(texts("body", column.String, nil, "paid", strings.Repeat("ha", 40), "")),
		service,
	}}
}

// The golden block is kept for ever: what was written once must be read by every later version.
func TestGoldenBlockIsRead(t *testing.T) {
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	i, err := ParsePath(lines[0])
	if err != nil {
		t.Fatal(err)
	}
	var b []byte
	for _, line := range lines[1:] {
		_, bytes, _ := strings.Cut(line, ": ")
		bytes, _, _ = strings.Cut(bytes, "|")
		part, err := hex.DecodeString(strings.ReplaceAll(bytes, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		b = append(b, part...)
	}
	fs := put(t, i, b)
	if err := Verify(fs, "blocks", i); err != nil {
		t.Fatal(err)
	}
	got, err := open(t, fs, i).Group(0, nil)
	if err != nil {
		t.Fatal(err)
	}
	sameTable(t, got, goldenTable(), 0)
}

// These bytes may change with the compressor, and then the file is written anew with -update.
// Whoever does that keeps the old one for TestGoldenBlockIsRead.
func TestGoldenBlockIsWritten(t *testing.T) {
	var b bytes.Buffer
	i, err := Encode(&b, testID, goldenTable(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := i.Path() + "\n" + annotate(t, b.Bytes())
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got other bytes than %s:\n%s", golden, got)
	}
}

// annotator shows the bytes of a file with what they are.
type annotator struct {
	file []byte
	at   int
	text strings.Builder
}

// part shows the next n bytes, 16 to a line.
func (a *annotator) part(n int, what string) {
	for ; n > 0; what = "" {
		line := min(n, 16)
		hex := fmt.Sprintf("% x", a.file[a.at:a.at+line])
		fmt.Fprintf(&a.text, "%04x: %-47s |%s\n", a.at, hex, strings.TrimRight(" "+what, " "))
		a.at, n = a.at+line, n-line
	}
}

// annotate shows a block.
func annotate(t *testing.T, b []byte) string {
	t.Helper()
	a := &annotator{file: b}
	size := int(binary.LittleEndian.Uint32(b[len(b)-tailSize:]))
	footAt := len(b) - tailSize - size
	foot, err := parseFooter(b[footAt : len(b)-tailSize])
	if err != nil {
		t.Fatal(err)
	}
	a.part(6, "magic")
	a.part(2, "padding")
	a.head(int(foot.dictAt[0].at)-8, "schema")
	for i, m := range foot.dictAt {
		a.message(t, m, headerDictionary, fmt.Sprintf("dictionary %d", i), 1, []string{"validity", "offsets", "data"})
	}
	names := []string{
		"time: validity", "time: values", "severity: validity", "severity: values",
		"body: validity", "body: offsets", "body: data", "service: validity", "service: indices",
	}
	for i, m := range foot.groups {
		a.message(t, m, headerBatch, fmt.Sprintf("row group %d", i), len(foot.fields), names)
	}
	a.part(8, "end of stream")
	for a.at < footAt-8 {
		a.part(4, "CRC-32C")
	}
	a.part(4, "how many")
	a.part(4, "CRC-32C of them, their number and the footer")
	a.part(size, "footer")
	a.part(4, "its length")
	a.part(6, "magic")
	return a.text.String()
}

// head shows the metadata of a message.
func (a *annotator) head(n int, what string) {
	a.part(4, what+": continuation")
	a.part(4, "length of the metadata")
	a.part(n-8, "metadata, a flatbuffer")
}

// message shows a message with its body.
func (a *annotator) message(t *testing.T, m message, code uint8, what string, nodes int, names []string) {
	t.Helper()
	table, err := parseMessage(a.file[m.at:][:m.meta], code, m.body)
	if err != nil {
		t.Fatal(err)
	}
	if code == headerDictionary {
		table, _ = table.table(1)
	}
	parts, err := parseBatch(table, nodes, len(names), m.body)
	if err != nil {
		t.Fatal(err)
	}
	a.head(int(m.meta), what)
	start := a.at
	for i, s := range parts.buffers {
		if s.size == 0 {
			continue // there are no nulls
		}
		form := ", length when inflated"
		if binary.LittleEndian.Uint64(a.file[a.at:]) == stored {
			form = ", stored"
		}
		a.part(8, names[i]+form)
		a.part(int(s.size)-8, "")
		a.part(-(a.at-start)&7, "padding")
	}
}
