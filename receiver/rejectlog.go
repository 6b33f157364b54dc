package receiver

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// logEvery is how often one reason may fill a line of the log.
const logEvery = 10 * time.Second

// rejectLog says who is refused and why, one line for each reason in logEvery; the next line
// counts those it left out.
type rejectLog struct {
	log zerolog.Logger

	mu    sync.Mutex // guards seen
	seen  map[string]time.Time
	muted map[string]int
}

// due reports whether a line for reason may be written now, and how many were left out.
func (l *rejectLog) due(reason string, now time.Time) (muted int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == nil {
		l.seen, l.muted = map[string]time.Time{}, map[string]int{}
	}
	if last, ok := l.seen[reason]; ok && now.Sub(last) < logEvery {
		l.muted[reason]++
		return 0, false
	}
	muted = l.muted[reason]
	l.seen[reason], l.muted[reason] = now, 0
	return muted, true
}

func (l *rejectLog) add(c *call, err error) {
	v := classify(err)
	muted, ok := l.due(v.reason, time.Now())
	if !ok {
		return
	}
	e := l.line(c, v.reason, muted).Str("error", plain(err.Error()))
	if p := (*panicError)(nil); errors.As(err, &p) {
		e = e.Str("panic", fmt.Sprint(p.value)).Bytes("stack", p.stack)
	}
	e.Msg("export rejected")
}

// warn logs something odd about an Export that was accepted.
func (l *rejectLog) warn(c *call, reason, text string) {
	if muted, ok := l.due(reason, time.Now()); ok {
		l.line(c, reason, muted).Msg(text)
	}
}

func (l *rejectLog) line(c *call, reason string, muted int) *zerolog.Event {
	e := l.log.Warn().Str("reason", reason).Str("transport", string(c.transport)).
		Str("peer", c.peer).Str("user_agent", strconv.QuoteToASCII(cut(c.agent, 256)))
	if c.signal.Valid() {
		e = e.Str("signal", c.signal.String())
	}
	if muted > 0 {
		e = e.Int("unlogged", muted)
	}
	return e
}

// cut bounds text that a client sent.
func cut(text string, n int) string {
	if len(text) > n {
		return text[:n]
	}
	return text
}
