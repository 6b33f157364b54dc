package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
)

// distinct is how many different requests a signal has. With few of them a
// compressor's window finds whole repeated requests and flatters the server.
const distinct = 64

// resources is how many resources a request spreads its records over.
const resources = 16

// corpus holds every request of a run, encoded.
type corpus struct {
	full [len(faces)][]*template
	last [len(faces)]*template // holds the records that --records leaves over, if any
	sum  string                // of all bodies, before the run's name went into them
}

// newCorpus encodes what a run with these settings sends, for the run's name.
func newCorpus(c *config, run string) *corpus {
	hash := sha256.New()
	build := func(s signal, index, records int) *template {
		if records == 0 {
			return nil
		}
		t := newTemplate(s, c.shape, run, index, records, rand.New(rand.NewPCG(c.seed, uint64(index)<<2|uint64(s))))
		t.hash(hash.Write, run)
		return t
	}
	var out corpus
	for _, s := range c.signals {
		for i := range distinct {
			out.full[s] = append(out.full[s], build(s, i, c.batch))
		}
		out.last[s] = build(s, distinct, c.leftover())
	}
	out.sum = hex.EncodeToString(hash.Sum(nil)[:8])
	return &out
}

// template returns the request for one ticket.
func (c *corpus) template(s signal, index int64, records int) *template {
	if t := c.last[s]; t != nil && t.records == records {
		return t
	}
	return c.full[s][index%distinct]
}

// hash feeds the body to write with the run's name blanked.
func (t *template) hash(write func([]byte) (int, error), run string) {
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
	shape shape
	run   string
}

func newTemplate(s signal, shape shape, run string, index, records int, r *rand.Rand) *template {
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
	return &template{body: a.b, stamps: a.stamps, records: records}
}

// group writes one resource with one scope and n records, the first of them
// being record number first of the request.
func (a *author) group(s signal, resource, first, n int) {
	a.message(requestResources, func() {
		a.message(groupResource, func() { a.resource(resource) })
		a.message(groupScopes, func() {
			a.message(scopeScope, func() {
				a.string(scopeName, "loadgen/"+s.String())
				a.string(scopeVersion, "1.0.0")
			})
			switch s {
			case logs:
				a.logs(first, n)
			case traces:
				a.spans(first, n)
			case metrics:
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
	if a.shape == lean {
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
