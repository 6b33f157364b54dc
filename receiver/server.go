package receiver

import (
	"context"
	"log"
	"net"
	"net/http"
	"time"
)

// NewServer returns the settings of a server for h, which may hold the API beside the
// receiver. Slow headers are cut off, bodies and connections are bounded in time, and the
// connections are counted. The caller serves and shuts it down.
func (r *Receiver) NewServer(h http.Handler) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(r.o.H2C)
	idle := r.o.IdleTimeout
	if idle == 0 {
		idle = 2 * time.Minute
	}
	return &http.Server{
		Handler:           r.guard(h),
		ReadHeaderTimeout: r.o.HeaderTimeout,
		IdleTimeout:       idle,
		MaxHeaderBytes:    r.o.MaxHTTPHeaderBytes,
		Protocols:         &protocols,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: r.o.MaxStreams, MaxReceiveBufferPerStream: 4 << 20, MaxReceiveBufferPerConnection: 16 << 20},
		ConnState:         r.countHTTP,
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, bornKey{}, time.Now())
		},
		ErrorLog: log.New(r.o.Log, "", 0),
	}
}

// guard sends HTTP/2 away where it is not spoken, and bounds the time of a body that its handler
// does not bound itself.
func (r *Receiver) guard(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == "PRI" && req.ProtoMajor != 1 {
			r.answerGRPC(w)
			return
		}
		control := http.NewResponseController(w)
		_ = control.SetWriteDeadline(time.Time{}) // that of the answer before on this connection
		if req.ContentLength != 0 {
			_ = control.SetReadDeadline(time.Now().Add(r.o.BodyGrace))
		}
		h.ServeHTTP(w, req)
	})
}

func (r *Receiver) countHTTP(_ net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		r.stats.open[overHTTP].Add(1)
	case http.StateClosed, http.StateHijacked:
		r.stats.open[overHTTP].Add(-1)
	}
}
