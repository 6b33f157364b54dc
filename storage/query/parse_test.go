package query

import (
	"errors"
	"strings"
	"testing"

	"mira/storage/signal"
)

func TestFilterParses(t *testing.T) {
	for _, c := range []struct {
		sig  signal.Signal
		text string
	}{
		{signal.Logs, ``},
		{signal.Logs, " \n\t"},
		{signal.Logs, `severity_number >= 17 and resource.attributes["service.name"] == "checkout"`},
		{signal.Logs, `IsMatch(body, "time.*out")`},
		{signal.Logs, `attributes["user.id"] != nil`},
		{signal.Logs, `not (body == "a" or body == "b") and true`},
		{signal.Logs, `not not false`},
		{signal.Logs, `log.severity_number >= SEVERITY_NUMBER_WARN4`},
		{signal.Logs, `log.attributes["a"]["b"][0] == 1.5e3`},
		{signal.Logs, `body["k"]["l"] == true`},
		{signal.Logs, `body.string == "x"`},
		{signal.Logs, `instrumentation_scope.name == "x" and scope.attributes["k"] == -1`},
		{signal.Logs, `trace_id == TraceID(0x000102030405060708090a0b0c0d0e0f)`},
		{signal.Logs, `trace_id.string == "000102030405060708090a0b0c0d0e0f"`},
		{signal.Logs, `span_id == SpanID("0001020304050607")`},
		{signal.Logs, `attributes["raw"] == 0xDEADbeef`},
		{signal.Logs, `IsString(body) == true`},
		{signal.Logs, `Len(body) > 10 and ToLowerCase(severity_text) == "error"`},
		{signal.Logs, `17 <= severity_number`},
		{signal.Logs, `time_unix_nano < 18446744073709551615`},
		{signal.Traces, `IsRootSpan() and span.kind == SPAN_KIND_SERVER and status.code == STATUS_CODE_ERROR`},
		{signal.Traces, `end_time_unix_nano != start_time_unix_nano and duration > 1000`},
		{signal.Metrics, `metric.type == METRIC_DATA_TYPE_SUM and datapoint.value_int > 3 or value_double == 0.5`},
		{signal.Metrics, `metric.metadata["k"] == "v" and metric.is_monotonic == true`},
	} {
		if _, err := ParseFilter(c.sig, c.text); err != nil {
			t.Errorf("%s: %s: %v", c.sig, c.text, err)
		}
	}
}

func TestFilterErrorsSayWhereAndWhat(t *testing.T) {
	for _, c := range []struct {
		text   string
		offset int
		reason string
	}{
		{`foo == 1`, 0, `unknown path "foo"`},
		{`body == 1 and span.name == "x"`, 14, `unknown path "span.name"`},
		{`body`, 0, `not a condition`},
		{`body == `, 8, `unexpected the end of the filter, want a path, a value or a function`},
		{`body = "x"`, 5, `==`},
		{`body == "x`, 8, `no closing quote`},
		{`body == 'x'`, 8, `double quotes`},
		{`body == "\d"`, 9, `unknown escape sequence`},
		{`body == "\u12"`, 9, `4 hexadecimal digits`},
		{`body == "\`, 9, `ends inside`},
		{`body == 12x`, 10, `inside a number`},
		{`body == 0x123`, 8, `even number`},
		{`body == 1 body == 2`, 10, `want and, or, or the end`},
		{`(body == 1`, 10, `want ")"`},
		{`body == 1)`, 9, `unexpected ")"`},
		{`body == 1 && true`, 10, `write and, or, not`},
		{`and body == 1`, 0, `unexpected "and"`},
		{`attributes == 1`, 0, `needs a key`},
		{`attributes[0] == 1`, 0, `needs a key`},
		{`attributes["a" == 1`, 15, `want "]"`},
		{`attributes["a"][-1] == 1`, 16, `index from 0`},
		{`severity_number["a"] == 1`, 0, `takes no key`},
		{`severity_number == SEVERITY_LOUD`, 19, `unknown enum`},
		{`IsMatch(body)`, 0, `write IsMatch(target`},
		{`IsMatch(body, "(")`, 0, `missing closing`},
		{`IsMatch(body, body)`, 0, `must be a string`},
		{`Sleep(1)`, 0, `unknown function "Sleep"`},
		{`TraceID(0x00) == trace_id`, 0, `16 bytes`},
		{`IsRootSpan()`, 0, `for spans`},
		{`body. == 1`, 6, `next name`},
		{`body == 1e999`, 8, `not a number`},
		{strings.Repeat("(", 65) + "true" + strings.Repeat(")", 65), 64, `more than 64 levels`},
		{strings.Repeat("not ", 65) + "true", 256, `more than 64 levels`},
		{strings.Repeat("Int(", 65) + "1" + strings.Repeat(")", 65) + " == 1", 252, `too deeply`},
		{strings.Repeat(" ", MaxFilterBytes+1), MaxFilterBytes, `longer than`},
	} {
		_, err := ParseFilter(signal.Logs, c.text)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%.60s: got %v, want a SyntaxError", c.text, err)
			continue
		}
		if syntax.Offset != c.offset || !strings.Contains(syntax.Reason, c.reason) {
			t.Errorf("%.60s: got %v, want %q at %d", c.text, err, c.reason, c.offset)
		}
	}
}

func FuzzFilter(f *testing.F) {
	for _, text := range []string{
		`severity_number >= 17 and resource.attributes["service.name"] == "checkout"`,
		`not (IsMatch(body, "a.*b") or attributes["a"]["b"][0] != nil)`,
		`trace_id == TraceID(0x000102030405060708090a0b0c0d0e0f)`, `Len(String(body)) < -1.5e3`,
		`time_unix_nano < 18446744073709551615`, `body == "\u00e9\\\""`, `true == IsInt(flags)`,
	} {
		f.Add(text)
	}
	table := sampleLogs(f).Table()
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range signal.All {
			filter, err := ParseFilter(s, text)
			if err != nil {
				var syntax *SyntaxError
				if !errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > len(text) {
					t.Fatalf("got %v, want a SyntaxError inside %d bytes", err, len(text))
				}
				continue
			}
			accepts := filter.bind(table)
			for i := range table.Rows {
				first, again := accepts.at(i), accepts.at(i)
				if first != again {
					t.Fatal("a filter answers the same row differently")
				}
			}
		}
	})
}
