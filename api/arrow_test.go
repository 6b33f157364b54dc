package api

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"

	"mira/storage/signal"
)

// arrowRows reads an Arrow stream as arrow-go sees it: its schema, and each row as text by column.
func arrowRows(t *testing.T, res *http.Response) (schema *arrow.Schema, rows []map[string]string) {
	t.Helper()
	body := bodyOf(t, res)
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != mediaArrow {
		t.Fatalf("got %s %s: %s", res.Status, res.Header.Get("Content-Type"), body)
	}
	r, err := ipc.NewReader(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	for r.Next() {
		b := r.RecordBatch()
		for row := range int(b.NumRows()) {
			m := map[string]string{}
			for i := range int(b.NumCols()) {
				if c := b.Column(i); !c.IsNull(row) {
					m[b.ColumnName(i)] = c.ValueStr(row)
					if at, ok := c.(*array.Timestamp); ok {
						m[b.ColumnName(i)] = fmt.Sprint(int64(at.Value(row)))
					}
				}
			}
			rows = append(rows, m)
		}
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return r.Schema(), rows
}

func TestArrowAnswerHoldsWhatJSONDoes(t *testing.T) {
	h := serve(sample(t))
	for path, want := range map[string][]string{
		"/api/v1/logs":   {"time", "severity_number", "attributes.str", "attributes.int", "attributes.bytes", "resource.attributes.service.name", "scope.name", "body.any"},
		"/api/v1/spans":  {"time", "trace_id", "events", "links", "status.code", "attributes.http.route"},
		"/api/v1/points": {"time", "metric.name", "metric.type", "as_double", "bucket_counts", "exemplars"},
	} {
		schema, rows := arrowRows(t, get(h, mediaArrow, path, "start", "0"))
		document := decode(t, get(h, mediaJSON, path, "start", "0"))
		if len(rows) != len(document.Rows) {
			t.Errorf("%s: got %d rows, want %d", path, len(rows), len(document.Rows))
		}
		for _, name := range want {
			if !schema.HasField(name) {
				t.Errorf("%s: column %s is missing in %v", path, name, schema)
			}
		}
		if schema.HasField("mira.time_unix_nano") || schema.Field(0).Name != "time" {
			t.Errorf("%s: got %v", path, schema)
		}
	}
}

func TestArrowAnswerHasTheColumnsThatAreNamed(t *testing.T) {
	h := serve(sample(t))
	schema, rows := arrowRows(t, get(h, mediaArrow, "/api/v1/logs", "start", "0", "order", "asc", "columns", "time,severity_text,attributes.int"))
	if schema.NumFields() != 3 || len(rows) != 3 || rows[1]["severity_text"] != "ERROR" || rows[1]["attributes.int"] != "-9223372036854775808" || rows[0]["severity_text"] != "" {
		t.Errorf("got %v of %v", rows, schema)
	}
}

func TestArrowAnswerWithoutRowsIsAStream(t *testing.T) {
	if _, rows := arrowRows(t, get(serve(sample(t)), mediaArrow, "/api/v1/logs", "start", "now")); len(rows) != 0 {
		t.Errorf("got %v", rows)
	}
}

// An attribute whose type changes, and one that only late rows have, must not depend on the page.
func TestArrowStreamOfAllHasTheColumnsOfEveryPage(t *testing.T) {
	r := &rows{}
	const n = streamRows + 10
	for half := range 2 {
		logs := plog.NewLogs()
		list := logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
		for i := range n / 2 {
			x := list.AppendEmpty()
			x.SetTimestamp(pcommon.Timestamp(half*n + i + 1))
			if half == 0 {
				x.Attributes().PutStr("k", "text")
			} else {
				x.Attributes().PutInt("k", int64(i))
			}
		}
		list.At(0).Attributes().PutBool(fmt.Sprint("only", half), true)
		b, err := plogotlp.NewExportRequestFromLogs(logs).MarshalProto()
		if err != nil {
			t.Fatal(err)
		}
		r.put(signal.Logs, b)
	}
	res := get(serve(r), mediaArrow, "/api/v1/logs", "start", "0", "limit", "all", "order", "asc")
	schema, rows := arrowRows(t, res)
	if len(rows) != n || rows[0]["attributes.k"] != "text" || rows[n-1]["attributes.k:int"] != fmt.Sprint(n/2-1) || rows[0]["attributes.only0"] != "true" || rows[n/2]["attributes.only1"] != "true" {
		t.Errorf("got %d rows, first %v, last %v of %v", len(rows), rows[0], rows[len(rows)-1], schema)
	}
	for i := 1; i < len(rows); i++ {
		if a, b := rows[i-1]["time"], rows[i]["time"]; len(b) < len(a) || len(b) == len(a) && b <= a {
			t.Fatalf("row %d is out of order: %v behind %v", i, rows[i], rows[i-1])
		}
	}
	if stats := res.Trailer.Get(headerStats); stats == "" {
		t.Error("no stats in the trailer")
	}
}
