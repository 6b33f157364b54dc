package vfs

import "testing"

func TestShortWriteGoesOnWhereItStopped(t *testing.T) {
	for _, c := range []struct {
		name string
		n    int
		want string
	}{
		{"inside a piece", 4, "e|fg"},
		{"at a boundary", 3, "de|fg"},
		{"all but a byte", 6, "g"},
		{"all", 7, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			vec := [][]byte{[]byte("abc"), []byte("de"), []byte("fg")}
			var got []byte
			for i, b := range skip(vec, c.n) {
				if i > 0 {
					got = append(got, '|')
				}
				got = append(got, b...)
			}
			if string(got) != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
