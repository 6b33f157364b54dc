package receiver

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog/plogotlp"

	"mira/pipeline"
	"mira/storage"
	"mira/storage/stage"
	"mira/storage/vfs"
)

// An Export goes all the way, from the door to a log that has forgotten it.
func TestEveryStageIsCounted(t *testing.T) {
	set := new(stage.Set)
	store, err := storage.Open(storage.Options{Dir: "/data", FS: vfs.NewMem(), Stages: set})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	p, err := pipeline.Open(pipeline.Options{Store: store, Stages: set})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	r, err := New(p, Options{Stages: set})
	if err != nil {
		t.Fatal(err)
	}
	body, err := plogotlp.NewExportRequestFromLogs(sampleLogs(100)).MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	const exports = 40
	for range exports {
		req := httptest.NewRequest(http.MethodPost, "/v1/logs", bytes.NewReader(body))
		req.Header.Set("Content-Type", mediaProtobuf)
		w := httptest.NewRecorder()
		if r.NewHTTP().ServeHTTP(w, req); w.Code != http.StatusOK {
			t.Fatalf("export: got %d %s", w.Code, w.Body)
		}
	}
	if got := store.LogStats().Unsynced; got != 0 {
		t.Errorf("%d bytes are not synced after all is acknowledged", got)
	}
	if err := p.Drain(context.Background()); err != nil {
		t.Fatal(err)
	}
	s := set.Snapshot()
	for _, name := range stage.All {
		if s.Stages[name].Count() == 0 {
			t.Errorf("%s was not counted", name)
		}
	}
	for name, want := range map[stage.Stage]uint64{stage.SealWait: 1, stage.Encode: 1, stage.Rename: 1, stage.LogSync: exports} {
		if got := s.Stages[name].Count(); got != want {
			t.Errorf("%s: got %d, want %d", name, got, want)
		}
	}
	if got := s.GroupFrames.Sum; got != exports {
		t.Errorf("frames of all groups: got %d, want %d", got, exports)
	}
	if check, columns := s.Stages[stage.Check].Count(), s.Stages[stage.Columns].Count(); check != columns || check > exports {
		t.Errorf("check counts %d and columns %d, want the same and at most %d", check, columns, exports)
	}
}
