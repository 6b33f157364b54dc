package storage

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"mira/storage/wal"
)

// Check is one condition for taking Exports.
type Check struct {
	Name   string    `json:"name"`
	OK     bool      `json:"ok"`
	Detail string    `json:"detail,omitempty"` // why not, in words
	Since  time.Time `json:"since,omitzero"`   // when it was last found wanting
}

// health remembers what the last writes told about the disk.
type health struct {
	full atomic.Bool

	mu       sync.Mutex // guards since, why, poisoned
	since    time.Time
	why      string
	poisoned time.Time
}

// wrote takes the outcome of a write to the log or of a block.
func (h *health) wrote(err error) {
	if err == nil {
		if h.full.Load() {
			h.full.Store(false)
		}
		return
	}
	if !noSpace(err) && !errors.Is(err, wal.ErrFull) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.full.Swap(true) {
		h.since, h.why = time.Now(), err.Error()
	}
}

// Health returns the store's checks: that the log is not poisoned and that the disk has room.
func (s *Store) Health() []Check {
	h := &s.health
	h.mu.Lock()
	defer h.mu.Unlock()
	log, disk := Check{Name: "log", OK: true}, Check{Name: "disk", OK: true}
	if err := s.log.Err(); err != nil {
		if h.poisoned.IsZero() {
			h.poisoned = time.Now()
		}
		log = Check{Name: "log", Detail: "poisoned: " + err.Error() + "; restart to recover", Since: h.poisoned}
	}
	if h.full.Load() {
		disk = Check{Name: "disk", Detail: "full: " + h.why, Since: h.since}
	}
	return []Check{log, disk}
}
