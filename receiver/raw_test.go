package receiver

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mira/storage/signal"
)

// wireConn is a client that writes HTTP/1.1 by hand.
type wireConn struct {
	net.Conn
	r *bufio.Reader
	t testing.TB
}

func (d *doors) wire(t testing.TB) *wireConn {
	t.Helper()
	c, err := net.Dial("tcp", d.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return &wireConn{c, bufio.NewReader(c), t}
}

func (c *wireConn) send(parts ...string) *wireConn {
	for _, p := range parts {
		if _, err := io.WriteString(c, p); err != nil {
			c.t.Logf("writing: %v", err)
		}
	}
	return c
}

// code reads one answer and returns its status; 0 when the connection was closed instead.
func (c *wireConn) code() int {
	resp, err := http.ReadResponse(c.r, nil)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

const head = "POST /v1/logs HTTP/1.1\r\nHost: mira\r\nContent-Type: application/json\r\n"

func sized(body []byte, more ...string) string {
	return fmt.Sprintf("%s%sContent-Length: %d\r\n\r\n%s", head, strings.Join(more, ""), len(body), body)
}

func TestFramingOfHTTP11(t *testing.T) {
	_, js := sample(t, signal.Logs, 1)
	n := len(js)
	chunks := fmt.Sprintf("%x;ext=1\r\n%s\r\n%x\r\n%s\r\n", 10, js[:10], n-10, js[10:])
	for _, c := range []struct {
		name   string
		send   string
		want   []int // one answer each; 0 is the end of the connection
		stored int
	}{
		{"keep-alive", sized(js) + sized(js) + sized(js), []int{200, 200, 200}, 3},
		{"a 400 between two", sized(js) + sized([]byte("[]")) + sized(js), []int{200, 400, 200}, 2},
		{"a 404 between two", sized(js) + strings.Replace(sized(js), "/v1/logs", "/v1/x", 1) + sized(js), []int{200, 404, 200}, 2},
		{"close", sized(js, "Connection: close\r\n"), []int{200, 0}, 1},
		{"HTTP/1.0", strings.Replace(sized(js), "HTTP/1.1", "HTTP/1.0", 1), []int{200, 0}, 1},
		{"absolute form", strings.Replace(sized(js), "/v1/logs", "http://mira/v1/logs", 1), []int{200}, 1},
		{"header case", strings.ReplaceAll(sized(js), "Content-", "cOnTeNt-"), []int{200}, 1},
		{"chunks with extensions and trailers", head + "Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n" + chunks + "0\r\nX-Sum: 1\r\n\r\n" + sized(js), []int{200, 200}, 2},
		{"bad chunk size", head + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", []int{400, 0}, 0},
		{"two lengths", head + "Content-Length: 3\r\nContent-Length: 4\r\n\r\n{}  ", []int{400, 0}, 0},
		{"no host", strings.Replace(sized(js), "Host: mira\r\n", "", 1), []int{400, 0}, 0},
		{"garbage", "\x00\x01\x02 nonsense\r\n\r\n", []int{400, 0}, 0},
		{"headers of 100 KiB", head + "X: " + strings.Repeat("x", 100<<10) + "\r\n\r\n", []int{431, 0}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := open(t, &fakeSink{}, Options{})
			w := d.wire(t).send(c.send)
			for i, want := range c.want {
				if got := w.code(); got != want {
					t.Fatalf("answer %d: got %d, want %d", i, got, want)
				}
			}
			if got := len(d.sink.stored()); got != c.stored {
				t.Errorf("%d Exports were stored, want %d", got, c.stored)
			}
		})
	}
}

func TestBodiesThatEndEarlyAreNeverAcknowledged(t *testing.T) {
	_, js := sample(t, signal.Logs, 1)
	for name, text := range map[string]string{
		"short of its length": strings.Replace(sized(js), "Content-Length: ", "Content-Length: 1", 1),
		"no last chunk":       head + fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(js), js),
		"inside a chunk":      head + fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s", len(js)+1, js),
	} {
		d := open(t, &fakeSink{}, Options{})
		w := d.wire(t).send(text)
		_ = w.Conn.(*net.TCPConn).CloseWrite()
		if got := w.code(); got != 400 && got != 0 {
			t.Errorf("%s: got %d", name, got)
		}
		if len(d.sink.stored()) != 0 {
			t.Errorf("%s: it was stored", name)
		}
	}
}

func TestExpectContinue(t *testing.T) {
	_, js := sample(t, signal.Logs, 1)
	d := open(t, &fakeSink{}, Options{MaxRequestBytes: 4096})
	expect := func(length int) string {
		return fmt.Sprintf("%sExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", head, length)
	}
	w := d.wire(t).send(expect(len(js)))
	if got := w.code(); got != 100 {
		t.Fatalf("got %d, want 100", got)
	}
	if got := w.send(string(js)).code(); got != 200 {
		t.Errorf("got %d, want 200", got)
	}
	if got := d.wire(t).send(expect(5000)).code(); got != 413 {
		t.Errorf("got %d, want 413 without a 100", got)
	}
	if got := d.wire(t).send(strings.Replace(expect(len(js)), "/v1/logs", "/v1/x", 1)).code(); got != 404 {
		t.Errorf("got %d, want 404 without a 100", got)
	}
}

func TestAClientThatOnlyWritesReadsThe413(t *testing.T) {
	const limit = 8 << 20
	d := open(t, &fakeSink{}, Options{MaxRequestBytes: limit})
	body := strings.Repeat("x", limit+(1<<20))
	for name, header := range map[string]string{
		"sized":   fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body)),
		"chunked": fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n", len(body)),
	} {
		w := d.wire(t).send(head, header)
		if _, err := io.WriteString(w, body); err != nil { // all of it, before looking for an answer
			t.Errorf("%s: %v", name, err)
		}
		resp, err := http.ReadResponse(w.r, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != http.StatusRequestEntityTooLarge || !resp.Close || !strings.Contains(string(text), "too large") {
			t.Errorf("%s: got %d, close %v, %s", name, resp.StatusCode, resp.Close, text)
		}
	}
}

func TestHugeContentLengthIsRefusedAtOnce(t *testing.T) {
	d := open(t, &fakeSink{}, Options{})
	if got := d.wire(t).send(head, "Content-Length: 9000000000000\r\n\r\n").code(); got != 413 {
		t.Errorf("got %d, want 413", got)
	}
}

func TestSlowClientsAreCutOffAndDelayNobody(t *testing.T) {
	_, js := sample(t, signal.Logs, 1)
	d := open(t, &fakeSink{}, Options{HeaderTimeout: 2 * time.Second, BodyGrace: 2 * time.Second, ReceiveBytes: 64 << 20})
	var headers, bodies, tricklers []*wireConn
	for range 50 {
		headers = append(headers, d.wire(t).send("POST /v1/logs HTTP/1.1\r\nHost:"))
		bodies = append(bodies, d.wire(t).send(head, "Content-Length: 60000000\r\n\r\n{"))
	}
	tricklers = append(tricklers, d.wire(t).send(head, "Content-Length: 60000\r\n\r\n{"))
	done := make(chan struct{})
	go func() { // a byte now and then must not buy more time
		defer close(done)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for range tick.C {
			if _, err := tricklers[0].Write([]byte(" ")); err != nil {
				return
			}
		}
	}()
	start := time.Now()
	if a := d.post(t, "/v1/logs", bytes.NewReader(js), "Content-Type", mediaJSON); a.code != 200 {
		t.Errorf("another client got %d", a.code)
	}
	if took := time.Since(start); took > 1500*time.Millisecond {
		t.Errorf("another client waited %v", took)
	}
	for _, w := range headers {
		if got := w.code(); got != 0 && got != 408 {
			t.Errorf("slow headers: got %d", got)
		}
	}
	for _, w := range append(bodies, tricklers...) {
		if got := w.code(); got != 503 && got != 0 {
			t.Errorf("slow body: got %d", got)
		}
	}
	for _, w := range tricklers {
		_ = w.Close()
	}
	<-done
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("slow clients were there for %v", took)
	}
}

func TestTLSBytesOnThePlainPortEndPromptly(t *testing.T) {
	d := open(t, &fakeSink{}, Options{HeaderTimeout: 500 * time.Millisecond})
	for _, addr := range []string{d.addr, d.grpc} {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		_ = c.SetDeadline(start.Add(10 * time.Second))
		if err := tls.Client(c, &tls.Config{InsecureSkipVerify: true}).Handshake(); err == nil {
			t.Errorf("a handshake succeeded")
		}
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("it took %v", took)
		}
		_ = c.Close()
	}
}

func TestIdlePrefaceIsCutOff(t *testing.T) {
	d := open(t, &fakeSink{}, Options{HeaderTimeout: 200 * time.Millisecond})
	c, err := net.Dial("tcp", d.grpc)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.Copy(io.Discard, c); err != nil {
		t.Errorf("got %v, want the end of the connection", err)
	}
}

func TestHTTP2WithoutTLSIsOptIn(t *testing.T) {
	pb, _ := sample(t, signal.Logs, 3)
	d := open(t, &fakeSink{}, Options{H2C: true})
	tr := &http.Transport{Protocols: new(http.Protocols)}
	tr.Protocols.SetUnencryptedHTTP2(true)
	defer tr.CloseIdleConnections()
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, d.http+"/v1/logs", bytes.NewReader(pb))
	req.Header.Set("Content-Type", mediaProtobuf)
	resp, err := (&http.Client{Transport: tr}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.ProtoMajor != 2 || len(d.sink.stored()) != 1 {
		t.Errorf("got %d over %s", resp.StatusCode, resp.Proto)
	}
}

func TestHTTP2OverTLSIsNegotiated(t *testing.T) {
	pb, _ := sample(t, signal.Logs, 3)
	sink := &fakeSink{}
	r, err := New(sink, Options{})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(nil)
	srv.Config = r.NewServer(r.NewHTTP())
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	resp, err := srv.Client().Post(srv.URL+"/v1/logs", mediaProtobuf, bytes.NewReader(pb))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.ProtoMajor != 2 || len(sink.stored()) != 1 {
		t.Errorf("got %d over %s", resp.StatusCode, resp.Proto)
	}
}

func TestOldConnectionsAreAskedToReconnect(t *testing.T) {
	_, js := sample(t, signal.Logs, 1)
	d := open(t, &fakeSink{}, Options{MaxConnectionAge: time.Nanosecond})
	a := d.post(t, "/v1/logs", bytes.NewReader(js), "Content-Type", mediaJSON)
	if a.code != 200 || !a.close {
		t.Errorf("got %d, close %v", a.code, a.close)
	}
}

func TestCORS(t *testing.T) {
	_, js := sample(t, signal.Logs, 1)
	d := open(t, &fakeSink{}, Options{CORS: CORS{
		Origins: []string{"https://app.example.com", "https://*.shop.example"},
		Headers: []string{"X-Tenant"},
	}})
	for origin, allowed := range map[string]bool{
		"https://app.example.com":           true,
		"https://eu.shop.example":           true,
		"https://shop.example":              false,
		"https://.shop.example":             false,
		"https://app.example.com.evil.test": false,
		"http://app.example.com":            false,
		"https://evil.test/.shop.example":   false,
		"null":                              false,
		"":                                  false,
	} {
		pre := d.do(t, "OPTIONS", "/v1/logs", nil, "Origin", origin, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type,x-tenant")
		post := d.post(t, "/v1/logs", bytes.NewReader(js), "Content-Type", mediaJSON, "Origin", origin)
		bad := d.post(t, "/v1/logs", strings.NewReader("["), "Content-Type", mediaJSON, "Origin", origin)
		if pre.code != 204 || post.code != 200 || bad.code != 400 {
			t.Errorf("%q: got %d, %d, %d", origin, pre.code, post.code, bad.code)
		}
		want := ""
		if allowed {
			want = origin
		}
		for what, a := range map[string]answer{"preflight": pre, "post": post, "error": bad} {
			if got := a.header.Get("Access-Control-Allow-Origin"); got != want {
				t.Errorf("%q, %s: allowed %q", origin, what, got)
			}
			if !strings.Contains(strings.Join(a.header.Values("Vary"), ","), "Origin") {
				t.Errorf("%q, %s: Vary %q", origin, what, a.header.Values("Vary"))
			}
		}
		h := pre.header
		if allowed && (h.Get("Access-Control-Allow-Methods") != "POST" || h.Get("Access-Control-Max-Age") != "7200" ||
			!strings.Contains(h.Get("Access-Control-Allow-Headers"), "Content-Type") || !strings.Contains(h.Get("Access-Control-Allow-Headers"), "X-Tenant")) {
			t.Errorf("%q: preflight %v", origin, h)
		}
	}
}
