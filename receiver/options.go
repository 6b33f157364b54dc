package receiver

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/rs/zerolog"
	"google.golang.org/grpc/credentials"

	"mira/storage/signal"
	"mira/storage/stage"
)

// MaxStreams is the most calls one gRPC connection may have open: above what SDKs and the
// Collector use, below what a rapid-reset attack needs.
const MaxStreams = 250

// Options are the settings of a Receiver. The zero value is ready to use.
type Options struct {
	// MaxRequestBytes bounds one Export, as it comes over the wire and inflated, on both
	// transports. The limit itself passes, one byte more does not. 0: 64 MiB.
	MaxRequestBytes int
	// ReceiveBytes bounds the bodies being received, all connections together. Inflated
	// bodies have a budget of their own, of MaxRequestBytes. 0: 2 * MaxRequestBytes.
	ReceiveBytes int
	// AdmitWait is how long an Export may wait for a place in ReceiveBytes. 0: 5s.
	AdmitWait time.Duration

	// Durability is the tier of an Export that names none. The zero value is signal.Sync.
	Durability signal.Tier
	// StrongestDurability caps what an Export may ask for: who asks for more gets this, and
	// the answer says so. The zero value, signal.Sync, grants every wish.
	StrongestDurability signal.Tier

	// HeaderTimeout bounds the arrival of HTTP request headers, the gRPC connection preface
	// and, together with it, a TLS handshake. 0: 5s.
	HeaderTimeout time.Duration
	// BodyGrace is how long a body may stand still before MinRate is asked of it. 0: 10s.
	BodyGrace time.Duration
	// MinRate is the slowest sender to put up with after BodyGrace, in bytes a second.
	// 0: 32 KiB/s.
	MinRate int
	// WriteTimeout bounds the writing of one HTTP answer. 0: 30s.
	WriteTimeout time.Duration
	// IdleTimeout closes a connection nobody uses, on both transports. 0: 2m for HTTP, never
	// for gRPC.
	IdleTimeout time.Duration
	// MaxConnectionAge asks a client to reconnect, so that load balancers can spread clients
	// anew; MaxConnectionAgeGrace is what calls under way get beyond it. 0: never.
	MaxConnectionAge      time.Duration
	MaxConnectionAgeGrace time.Duration
	// KeepaliveTime is the silence after which a gRPC connection is pinged, KeepaliveTimeout
	// how long the answer may take. 0: 1m and 20s.
	KeepaliveTime    time.Duration
	KeepaliveTimeout time.Duration
	// KeepaliveMinTime is how often a client may ping. 0: 1s, which no SDK or Collector breaks.
	KeepaliveMinTime time.Duration

	// MaxStreams bounds the open calls of one gRPC connection. 0: MaxStreams, also the most.
	MaxStreams int
	// MaxHeaderBytes bounds the header list of a gRPC call, 0: 16 KiB, and of an HTTP
	// request, 0: 64 KiB.
	MaxGRPCHeaderBytes int
	MaxHTTPHeaderBytes int

	// Paths are the HTTP paths by signal. A signal left out has its path of the
	// specification: /v1/logs, /v1/traces, /v1/metrics.
	Paths map[signal.Signal]string
	// H2C serves HTTP/2 without TLS on the HTTP port, for clients that know beforehand.
	H2C bool
	// Reflection lists the gRPC services to who asks.
	Reflection bool
	// CORS lets pages of other origins send Exports. The zero value lets none.
	CORS CORS
	// Creds secures the gRPC port. nil: plain text.
	Creds credentials.TransportCredentials

	// GRPCAddr and HTTPAddr are the addresses of the two ports, for the answer to who speaks the
	// protocol of one to the other. "": it names the usual ports.
	GRPCAddr string
	HTTPAddr string

	// Stages times the Exports. nil: none is timed.
	Stages *stage.Set
	// Metrics is where the receiver's metrics go. nil: a set of its own, see Receiver.Metrics.
	Metrics *metrics.Set
	// Log gets a line for what is refused, rate-limited. The zero value is silent.
	Log zerolog.Logger
}

// CORS says which pages may send Exports from a browser.
type CORS struct {
	// Origins are exact ("https://app.example.com"), or hold one "*" that stands for any text
	// without a slash ("https://*.example.com"), or are "*" alone. None: CORS is off.
	Origins []string
	// Headers may be sent beside Content-Type, Content-Encoding and mira-durability, which are
	// always allowed. "*" allows every header.
	Headers []string
	// MaxAge is how long a browser may remember the permission. 0: 2h.
	MaxAge time.Duration
}

// withDefaults returns o with its zero values filled in.
func (o Options) withDefaults() Options {
	orInt(&o.MaxRequestBytes, 64<<20)
	orInt(&o.ReceiveBytes, 2*o.MaxRequestBytes)
	orInt(&o.MinRate, 32<<10)
	orInt(&o.MaxStreams, MaxStreams)
	orInt(&o.MaxGRPCHeaderBytes, 16<<10)
	orInt(&o.MaxHTTPHeaderBytes, 64<<10)
	orTime(&o.AdmitWait, 5*time.Second)
	orTime(&o.HeaderTimeout, 5*time.Second)
	orTime(&o.BodyGrace, 10*time.Second)
	orTime(&o.WriteTimeout, 30*time.Second)
	orTime(&o.KeepaliveTime, time.Minute)
	orTime(&o.KeepaliveTimeout, 20*time.Second)
	orTime(&o.KeepaliveMinTime, time.Second)
	orTime(&o.CORS.MaxAge, 2*time.Hour)
	paths := map[signal.Signal]string{}
	for _, s := range signal.All {
		paths[s] = "/v1/" + s.String()
		if p := o.Paths[s]; p != "" {
			paths[s] = p
		}
	}
	o.Paths = paths
	if o.Metrics == nil {
		o.Metrics = metrics.NewSet()
	}
	return o
}

func orInt(v *int, def int) {
	if *v == 0 {
		*v = def
	}
}

func orTime(v *time.Duration, def time.Duration) {
	if *v == 0 {
		*v = def
	}
}

// Validate returns what is wrong with o, by the name of the field.
func (o Options) Validate() error {
	o = o.withDefaults()
	for _, f := range []struct {
		name      string
		v, lo, hi int
	}{
		{"MaxRequestBytes", o.MaxRequestBytes, 1, 1 << 30},
		{"ReceiveBytes", o.ReceiveBytes, o.MaxRequestBytes, 1 << 40},
		{"MinRate", o.MinRate, 1, 1 << 30},
		{"MaxStreams", o.MaxStreams, 1, MaxStreams},
		{"MaxGRPCHeaderBytes", o.MaxGRPCHeaderBytes, 1 << 10, 1 << 20},
		{"MaxHTTPHeaderBytes", o.MaxHTTPHeaderBytes, 1 << 10, 1 << 20},
		{"Durability", int(o.Durability), int(signal.Sync), int(signal.Buffered)},
		{"StrongestDurability", int(o.StrongestDurability), int(signal.Sync), int(o.Durability)},
	} {
		if f.v < f.lo || f.v > f.hi {
			return fmt.Errorf("%s: %d is not in %d..%d", f.name, f.v, f.lo, f.hi)
		}
	}
	if err := o.validateTimes(); err != nil {
		return err
	}
	if err := o.validatePaths(); err != nil {
		return err
	}
	return o.CORS.validate()
}

func (o Options) validateTimes() error {
	for _, f := range []struct {
		name string
		v    time.Duration
	}{
		{"AdmitWait", o.AdmitWait},
		{"HeaderTimeout", o.HeaderTimeout},
		{"BodyGrace", o.BodyGrace},
		{"WriteTimeout", o.WriteTimeout},
		{"IdleTimeout", o.IdleTimeout},
		{"MaxConnectionAge", o.MaxConnectionAge},
		{"MaxConnectionAgeGrace", o.MaxConnectionAgeGrace},
		{"KeepaliveTime", o.KeepaliveTime},
		{"KeepaliveTimeout", o.KeepaliveTimeout},
		{"KeepaliveMinTime", o.KeepaliveMinTime},
		{"CORS.MaxAge", o.CORS.MaxAge},
	} {
		if f.v < 0 {
			return fmt.Errorf("%s: %v is negative", f.name, f.v)
		}
	}
	return nil
}

func (o Options) validatePaths() error {
	var seen []string
	for _, s := range signal.All {
		p, field := o.Paths[s], fmt.Sprintf("Paths[%s]", s)
		if !strings.HasPrefix(p, "/") || path.Clean(p) != p || strings.ContainsAny(p, "?#%") {
			return fmt.Errorf("%s: %q is not a clean absolute path", field, p)
		}
		if slices.Contains(seen, p) {
			return fmt.Errorf("%s: %q is taken by another signal", field, p)
		}
		seen = append(seen, p)
	}
	return nil
}

func (c CORS) validate() error {
	for _, o := range c.Origins {
		if o == "" || strings.Count(o, "*") > 1 || strings.HasSuffix(o, "/") {
			return fmt.Errorf("%s: %q is not an origin, or holds more than one *", "CORS.Origins", o)
		}
	}
	return nil
}
