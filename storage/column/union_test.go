package column

import (
	"fmt"
	"testing"
)

func TestUnionGivesEveryTableTheSameColumns(t *testing.T) {
	text := Column{Name: "attributes.k", Key: "k", Level: LevelRecord, Kind: KindString, Type: String, Len: 1, Offsets: []int32{0, 1}, Data: []byte("x")}
	number := Column{Name: "attributes.k", Key: "k", Level: LevelRecord, Kind: KindInt, Type: Int, Len: 1, Ints: []int64{7}}
	odd := Column{Name: "attributes.k:int", Key: "k:int", Level: LevelRecord, Kind: KindString, Type: String, Len: 1, Offsets: []int32{0, 1}, Data: []byte("y")}
	body := Column{Name: "body", Level: LevelRecord, Type: String, Len: 1, Offsets: []int32{0, 1}, Data: []byte("z")}
	a, b := &Table{Rows: 1, Columns: []Column{text, body}}, &Table{Rows: 1, Columns: []Column{odd, number}}
	var u Union
	u.Add(a, nil)
	u.Add(b, nil)
	u.Add(a, nil)
	u.Add(&Table{Columns: []Column{{Name: "unwanted"}}}, func(*Column) bool { return false })
	for i, table := range []*Table{u.Shape(a), u.Shape(b)} {
		got := ""
		for j := range table.Columns {
			c := &table.Columns[j]
			value := "-"
			if !c.Null(0) {
				value = "set"
			}
			got += fmt.Sprintf("%s %s %s,", c.Name, value, c.Key)
		}
		want := []string{
			"attributes.k set k,body set ,attributes.k:int - k:int,attributes.k:int:2 - k,",
			"attributes.k - k,body - ,attributes.k:int set k:int,attributes.k:int:2 set k,",
		}[i]
		if got != want {
			t.Errorf("table %d: got %s, want %s", i, got, want)
		}
	}
}
