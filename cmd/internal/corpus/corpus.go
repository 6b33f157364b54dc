package corpus

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
)

// Signal is one of the three kinds of telemetry. The number goes into the random source.
type Signal int

// The signals.
const (
	Logs Signal = iota
	Traces
	Metrics
)

// Signals is how many signals there are.
const Signals = 3

func (s Signal) String() string { return [Signals]string{"logs", "traces", "metrics"}[s] }

// Shape is how much a record carries.
type Shape int

// The shapes.
const (
	Lean Shape = iota // 2 string attributes, about 140 bytes on the wire
	Rich              // 10 attributes of mixed types, unique ids, about 500 bytes
)

func (s Shape) String() string { return [...]string{"lean", "rich"}[s] }

// Distinct is how many different requests a signal has. With few of them a
// compressor's window finds whole repeated requests and flatters the server.
const Distinct = 64

// resources is how many resources a request spreads its records over.
const resources = 16

// Options say what the requests of a run are. Equal Options give equal requests.
type Options struct {
	Signals  []Signal
	Shape    Shape
	Batch    int    // records of a request
	Leftover int    // records of one more, last request; 0: none
	Seed     uint64 // of everything drawn at random
	Run      string // the name of the run, not empty; it goes into every resource
}

// Corpus holds every request of a run, encoded.
type Corpus struct {
	full [Signals][]*Template
	last [Signals]*Template // holds the records that are left over, if any
	sum  string             // of all bodies, before the run's name went into them
}

// New encodes what a run with these options sends.
func New(o Options) *Corpus {
	hash := sha256.New()
	build := func(s Signal, index, records int) *Template {
		t := o.Template(s, index, records)
		t.hash(hash.Write, o.Run)
		return t
	}
	var out Corpus
	for _, s := range o.Signals {
		for i := range Distinct {
			out.full[s] = append(out.full[s], build(s, i, o.Batch))
		}
		if o.Leftover > 0 {
			out.last[s] = build(s, Distinct, o.Leftover)
		}
	}
	out.sum = hex.EncodeToString(hash.Sum(nil)[:8])
	return &out
}

// Template encodes one request. New makes the numbers below Distinct, and Distinct for what is left
// over; whoever cannot keep them all in memory makes one after the other, and as many as it likes.
func (o Options) Template(s Signal, index, records int) *Template {
	return newTemplate(s, o.Shape, o.Run, index, records, rand.New(rand.NewPCG(o.Seed, uint64(index)<<2|uint64(s))))
}

// Sum is the fingerprint of all requests. It does not depend on the run's name.
func (c *Corpus) Sum() string { return c.sum }

// Template returns the request for one ticket.
func (c *Corpus) Template(s Signal, index int64, records int) *Template {
	if t := c.last[s]; t != nil && t.records == records {
		return t
	}
	return c.full[s][index%Distinct]
}

// hash feeds the body to write with the run's name blanked.
func (t *Template) hash(write func([]byte) (int, error), run string) {
	body := append([]byte(nil), t.body...)
	for i := 0; i+len(run) <= len(body); i++ {
		if body[i] == run[0] && string(body[i:i+len(run)]) == run {
			clear(body[i : i+len(run)])
		}
	}
	_, _ = write(body) // a hash never fails
}

// Fields shared by the requests and resources of all three signals.
const (
	requestResources = 1

	groupResource, groupScopes, groupSchema = 1, 2, 3 // ResourceLogs, ResourceSpans, ResourceMetrics

	resourceAttributes = 1

	scopeScope, scopeRecords = 1, 2 // ScopeLogs, ScopeSpans, ScopeMetrics

	scopeName, scopeVersion = 1, 2
)

// author writes one request: the encoder, and what the records are drawn from.
type author struct {
	encoder
	*rand.Rand
	shape Shape
	run   string
}

func newTemplate(s Signal, shape Shape, run string, index, records int, r *rand.Rand) *Template {
	a := author{Rand: r, shape: shape, run: run}
	first := 0
	for g := range min(resources, records) {
		n := records / resources
		if g < records%resources {
			n++
		}
		a.group(s, (index+g)%resources, first, n)
		first += n
	}
	return &Template{body: a.b, stamps: a.stamps, records: records}
}

// group writes one resource with one scope and n records, the first of them
// being record number first of the request.
func (a *author) group(s Signal, resource, first, n int) {
	a.message(requestResources, func() {
		a.message(groupResource, func() { a.resource(resource) })
		a.message(groupScopes, func() {
			a.message(scopeScope, func() {
				a.string(scopeName, "loadgen/"+s.String())
				a.string(scopeVersion, "1.0.0")
			})
			switch s {
			case Logs:
				a.logs(first, n)
			case Traces:
				a.spans(first, n)
			case Metrics:
				a.points(first, n)
			}
		})
	})
}

var services = [resources]string{
	"frontend", "checkout", "cart", "catalogue", "payment", "shipping", "email", "currency",
	"search", "reviews", "accounts", "sessions", "pricing", "inventory", "recommend", "gateway",
}

// resource writes the five attributes that every resource has.
func (a *author) resource(n int) {
	a.stringAttribute(resourceAttributes, "service.name", services[n])
	a.attribute(resourceAttributes, "service.instance.id", func() {
		const prefix = "loadgen-"
		a.tag(anyString, wireBytes)
		a.b = append(a.b, byte(len(prefix)+stampWorker.size()))
		a.b = append(a.b, prefix...)
		a.mark(stampWorker, 0)
		a.b = append(a.b, "00000"...)
	})
	a.stringAttribute(resourceAttributes, "host.name", fmt.Sprintf("node-%02d.example", n))
	a.stringAttribute(resourceAttributes, "deployment.environment.name", "staging")
	a.stringAttribute(resourceAttributes, "loadgen.run", a.run)
}

var (
	routes = [...]string{
		"/items", "/items/{id}/reviews", "/carts/{id}/items", "/carts/{id}/items/{item}", "/checkout/payments",
		"/orders", "/orders/{id}/shipments", "/sessions", "/search/suggestions", "/reviews/{id}/ratings",
		"/users/{id}/addresses", "/catalogue/categories/{id}", "/inventory/warehouses/{id}",
	}
	verbs    = [...]string{"GET", "GET", "GET", "POST", "PUT", "DELETE"}
	statuses = [...]int{200, 200, 200, 200, 200, 201, 204, 304, 400, 404, 500, 503}
)

func pick[T any](a *author, from []T) T { return from[a.IntN(len(from))] }

// user is one of ten thousand, more than a block's dictionary keeps.
func (a *author) user() string { return fmt.Sprintf("u-%012x", mix(a.Uint64N(10_000))&0xffffffffffff) }

// attributes writes the attributes of a record into the given field: two
// strings when lean, ten of mixed types when rich.
func (a *author) attributes(field int, route string, status int, off uint32) {
	a.stringAttribute(field, "http.route", route)
	a.stringAttribute(field, "user.id", a.user())
	if a.shape == Lean {
		return
	}
	a.attribute(field, "request.id", func() { a.id(anyString, stampHex, off) })
	a.intAttribute(field, "http.response.status_code", status)
	a.stringAttribute(field, "http.request.method", pick(a, verbs[:]))
	a.stringAttribute(field, "client.address", fmt.Sprintf("10.%d.%d.%d", a.IntN(4), a.IntN(256), a.IntN(256)))
	a.attribute(field, "duration.ms", func() { a.double(anyDouble, a.ExpFloat64()*40) })
	a.attribute(field, "cache.hit", func() { a.tag(anyBool, wireVarint); a.b = append(a.b, byte(a.IntN(2))) })
	a.attribute(field, "digest", func() {
		a.string(anyBytes, fmt.Sprintf("%c%c%c%c", a.IntN(128), a.IntN(128), a.IntN(128), a.IntN(128)))
	})
	a.attribute(field, "tags", func() {
		a.message(anyArray, func() {
			for range 2 {
				a.message(1, func() { a.string(anyString, pick(a, services[:])) })
			}
		})
	})
}
