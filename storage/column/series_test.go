package column

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestBitmapsAreLikeSlicesOfBool holds the bitmaps against a slice.
func TestBitmapsAreLikeSlicesOfBool(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var bitmap []byte
		var model []bool
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			if rapid.IntRange(0, 4).Draw(t, "step") == 0 {
				model = model[:rapid.IntRange(0, len(model)).Draw(t, "cut")]
				bitmap = cutBits(bitmap, len(model))
			} else {
				k, one := rapid.IntRange(0, 20).Draw(t, "bits"), rapid.Bool().Draw(t, "one")
				bitmap = appendBits(bitmap, len(model), k, one)
				model = append(model, slices.Repeat([]bool{one}, k)...)
			}
			checkBitmap(t, "the bitmap", bitmap, len(model))
			for i, want := range model {
				if got := bitmap[i>>3]&(1<<(i&7)) != 0; got != want {
					t.Fatalf("bit %d is %v", i, got)
				}
			}
		}
	})
}
