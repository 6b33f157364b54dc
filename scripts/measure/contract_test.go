package main

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestRoundsGoForwardAndBackward(t *testing.T) {
	var got []int
	for i := range 4 {
		got = append(got, order(i, 2)...)
	}
	if want := []int{0, 1, 1, 0, 0, 1, 1, 0}; !slices.Equal(got, want) {
		t.Errorf("two arms run in the order %v, want %v", got, want)
	}
	if got, want := order(1, 3), []int{2, 1, 0}; !slices.Equal(got, want) {
		t.Errorf("three arms run backward as %v, want %v", got, want)
	}
}

func TestMedianIsTheMiddle(t *testing.T) {
	f := func(want float64, values ...float64) {
		t.Helper()
		if got := median(values); got != want {
			t.Errorf("median of %v: got %v, want %v", values, got, want)
		}
	}
	f(0)
	f(7, 7)
	f(2, 9, 1, 2)
	f(2.5, 4, 1, 2, 3)
	values := []float64{3, 1, 2}
	median(values)
	if !slices.Equal(values, []float64{3, 1, 2}) {
		t.Errorf("median sorted the rounds: %v", values)
	}
}

func TestEveryRoundHasARatioAndASign(t *testing.T) {
	got := compare("old", []float64{2, 1, 3, 8}, []float64{1, 2, 3, 2})
	if want := (against{Base: "old", Median: 1.5, Low: 0.5, High: 4, Signs: "+-=+"}); *got != want {
		t.Errorf("got %+v, want %+v", *got, want)
	}
}

// rounds makes rounds of two arms, a and b, that have one figure.
func rounds(figure string, a, b []float64) (list [][]sample) {
	for i := range a {
		list = append(list, []sample{
			{Arm: "a", Figures: map[string]float64{figure: a[i]}, Corpus: "c"},
			{Arm: "b", Figures: map[string]float64{figure: b[i]}, Corpus: "c"},
		})
	}
	return list
}

func twoArms() *cell { return &cell{arms: []arm{{name: "a"}, {name: "b"}}, shown: []string{"x"}} }

func TestTheRatioIsOfRoundsNotOfMedians(t *testing.T) {
	// The machine gets ten times as fast; b is twice as good as a in every round.
	rows, err := twoArms().judge(rounds("x", []float64{1, 10, 100}, []float64{2, 20, 200}))
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 2 || rows[0].Ratio != nil {
		t.Fatalf("got %+v, want a row for each arm and no ratio for the base", rows)
	}
	if r := rows[1].Ratio; r == nil || r.Median != 2 || r.Low != 2 || r.High != 2 || r.Signs != "+++" {
		t.Errorf("got %+v, want 2 in every round", rows[1].Ratio)
	}
}

func TestARefusalLeavesNoNumber(t *testing.T) {
	list := rounds("x", []float64{1, 1}, []float64{2, 2})
	list[1][0].Refused = map[string]int64{"UNAVAILABLE": 1}
	rows, err := twoArms().judge(list)
	if rows != nil || err == nil || !strings.Contains(err.Error(), "round 2, a: 1 Exports refused with UNAVAILABLE") {
		t.Errorf("got %v, %v, want no rows and the refusal", rows, err)
	}
}

func TestAnotherCorpusLeavesNoNumber(t *testing.T) {
	list := rounds("x", []float64{1, 1}, []float64{2, 2})
	list[1][1].Corpus = "d"
	if rows, err := twoArms().judge(list); rows != nil || err == nil {
		t.Errorf("got %v, %v, want no rows and an error", rows, err)
	}
}

func TestTheBestArmCanBeTheBase(t *testing.T) {
	c := twoArms()
	c.base = best
	rows, err := c.judge(rounds("x", []float64{1, 9, 1}, []float64{4, 4, 4}))
	if err != nil {
		t.Fatal(err)
	}
	if rows[0].Ratio == nil || rows[0].Ratio.Base != "b" || rows[0].Ratio.Signs != "-+-" {
		t.Errorf("got %+v, want a against b, which has the better median", rows[0].Ratio)
	}
}

func TestAFigureThatAnArmLacksIsLeftOut(t *testing.T) {
	list := rounds("x", []float64{1}, []float64{2})
	list[0][1].Figures["only b's"] = 5
	rows, err := twoArms().judge(list)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 3 || rows[2].Figure != "only b's" || rows[2].Ratio != nil {
		t.Errorf("got %+v, want x of both and the other of b, without a ratio", rows)
	}
}

func TestGoalsAreHeldAgainstMedians(t *testing.T) {
	f := func(g goal, want string, missed bool) {
		t.Helper()
		g.arm, g.figure = "b", "x"
		c := twoArms()
		c.goals = []goal{g}
		rows, err := c.judge(rounds("x", []float64{1, 2, 4}, []float64{3, 4, 5}))
		if err != nil {
			t.Fatal(err)
		}
		if rows[1].Goal != want || rows[1].Missed != missed || rows[0].Goal != "" {
			t.Errorf("%+v: got %q, missed %v; want %q, %v", g, rows[1].Goal, rows[1].Missed, want, missed)
		}
	}
	f(goal{least: true, bound: 4}, ">= 4", false)
	f(goal{least: true, bound: 4.5}, ">= 4.5", true)
	f(goal{bound: 4}, "<= 4", false)
	f(goal{bound: 3.9}, "<= 3.9", true)
	f(goal{ratio: true, least: true, bound: 2}, "ratio >= 2", false)
	f(goal{ratio: true, bound: 1.9}, "ratio <= 1.9", true)
}

func TestLatenciesAreQuantilesInMicroseconds(t *testing.T) {
	took := samples(1000)
	got := quantiles(took)
	for figure, want := range map[string]float64{ackP50: 500, ackP99: 990, ackP999: 999} {
		if math.Abs(got[figure]-want) > 1 {
			t.Errorf("%s: got %v, want %v", figure, got[figure], want)
		}
	}
}
