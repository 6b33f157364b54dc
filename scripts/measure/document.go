package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// document writes the figures of all results into the parts of a Markdown file that are for them,
// so that no figure in it is copied by hand.
func document(name, results string) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	list, err := readResults(results)
	if err != nil {
		return err
	}
	text, err := replace(string(b), "reach", reachTable(list))
	if err == nil {
		text, err = replace(text, "figures", figureTables(list))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.WriteFile(name, []byte(text), 0o644)
}

// replace puts body between the two comments that mark a part.
func replace(text, part, body string) (string, error) {
	begin, end := "<!-- "+part+": written by scripts/measure -->\n", "<!-- end of "+part+" -->\n"
	before, rest, ok1 := strings.Cut(text, begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		return "", fmt.Errorf("the comments around %q are gone", part)
	}
	return before + begin + body + end + after, nil
}

// readResults reads the results in the order of the experiments.
func readResults(dir string) (list []*result, err error) {
	for _, e := range experiments {
		r, err := readResult(filepath.Join(dir, e.name+".json"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

func readResult(name string) (*result, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	r := &result{}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// reachTable has every figure with a goal.
func reachTable(list []*result) string {
	var out strings.Builder
	out.WriteString("| experiment: cell: arm | figure | goal | found | signs | |\n|---|---|---|---|---|---|\n")
	for _, r := range list {
		for _, f := range r.Cells {
			for _, x := range f.Rows {
				if x.Goal == "" {
					continue
				}
				found, signs := number(x.Median), ""
				if strings.HasPrefix(x.Goal, "ratio") {
					found, signs = fmt.Sprintf("%.2f (%.2f to %.2f)", x.Ratio.Median, x.Ratio.Low, x.Ratio.High), code(x.Ratio.Signs)
				}
				verdict := "reached"
				if x.Missed {
					verdict = "**missed**"
				}
				fmt.Fprintf(&out, "| %s: %s: %s | %s | %s | %s | %s | %s |\n", r.Experiment, f.Name, x.Arm, x.Figure, x.Goal, found, signs, verdict+r.doubt())
			}
		}
	}
	return out.String()
}

// figureTables has what each experiment shows.
func figureTables(list []*result) string {
	var out strings.Builder
	for _, r := range list {
		fmt.Fprintf(&out, "### %s\n\n%s `%s`; %d rounds of %.4g s, %s, commit %s; %d cores, Linux %s, %s, %s; others used %.2f cores%s, load before %.2f.\n\n",
			r.Experiment, title(r.Asks), r.Command, r.Rounds, r.Seconds, r.Date, r.Host.Commit, r.Host.Cores, r.Host.Kernel, r.Host.FS, r.Host.Go,
			r.Others, r.doubt(), r.Load)
		out.WriteString("| cell | arm | figure | median | low to high | ratio | signs |\n|---|---|---|---|---|---|---|\n")
		for _, f := range r.Cells {
			if f.Error != "" {
				fmt.Fprintf(&out, "| %s | no numbers: %s | | | | | |\n", f.Name, f.Error)
			}
			for _, x := range f.Rows {
				if !f.shows(&x) {
					continue
				}
				ratio, signs := "", ""
				if x.Ratio != nil {
					ratio, signs = fmt.Sprintf("%.3f", x.Ratio.Median), code(x.Ratio.Signs)
				}
				fmt.Fprintf(&out, "| %s | %s | %s | %s | %s to %s | %s | %s |\n", f.Name, x.Arm, x.Figure, number(x.Median), number(x.Low), number(x.High), ratio, signs)
			}
		}
		out.WriteString("\n")
	}
	return out.String()
}

// doubt marks figures of a machine that others used.
func (r *result) doubt() string {
	if r.Shared {
		return " (shared machine)"
	}
	return ""
}

func code(s string) string { return "`" + s + "`" }

func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
