package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// httpSender posts over a connection of its own.
type httpSender struct {
	client      *http.Client
	base        string
	shelf       shelf
	tier        string
	compression string
}

func newHTTPSender(c *config, s shelf) *httpSender {
	base := c.target
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	return &httpSender{
		client: &http.Client{Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			MaxConnsPerHost:     1,
			MaxIdleConnsPerHost: 1,
			DisableCompression:  true,
			WriteBufferSize:     128 << 10,
		}},
		base: strings.TrimRight(base, "/"), shelf: s, tier: c.durability, compression: c.compression,
	}
}

func (h *httpSender) close() { h.client.CloseIdleConnections() }

func (h *httpSender) send(ctx context.Context, s signal, body *[]byte) answer {
	body = h.compress(body)
	a := answer{wire: int64(len(*body)), retry: true}
	req, err := h.request(ctx, s, body)
	if err != nil {
		return answer{code: "REQUEST", detail: err.Error(), certain: true}
	}
	resp, err := h.client.Do(req)
	if err != nil {
		a.code, a.detail = transportCode(err), err.Error()
		return a
	}
	defer func() { _ = resp.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(resp.Body, 4<<20))
	if err != nil {
		a.code, a.detail = transportCode(err), err.Error()
		return a
	}
	a.judge(resp, content)
	if resp.StatusCode == http.StatusOK {
		// The server has read the whole body, so nobody here reads it any more.
		// After an early refusal somebody may, and the buffer is left to the
		// garbage collector.
		h.shelf.Put(body)
	}
	return a
}

func (h *httpSender) request(ctx context.Context, s signal, body *[]byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.base+faces[s].path, bytes.NewReader(*body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	if h.compression != "none" {
		req.Header.Set("Content-Encoding", h.compression)
	}
	if h.tier != "" {
		req.Header.Set("Mira-Durability", h.tier)
	}
	return req, nil
}

// judge reads a complete HTTP answer. A gateway's time-out leaves open what the
// server behind it did.
func (a *answer) judge(resp *http.Response, content []byte) {
	switch code := resp.StatusCode; code {
	case http.StatusOK:
		a.read(content)
		a.retry = false // a partial success is final, too
		a.tier = resp.Header.Get("Mira-Durability")
		return
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable:
		a.retry, a.certain = true, true
	case http.StatusGatewayTimeout:
		a.retry = true
	default:
		a.retry, a.certain = false, true
	}
	a.code = strconv.Itoa(resp.StatusCode)
	a.detail = fmt.Sprintf("%s: %q", resp.Status, content[:min(len(content), 200)])
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		a.after = time.Duration(seconds) * time.Second
	}
}

func transportCode(err error) string {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return "TIMEOUT"
	}
	return "CONNECTION"
}

// compress replaces a body by its compressed form, in a buffer of the same shelf.
func (h *httpSender) compress(body *[]byte) *[]byte {
	if h.compression == "none" {
		return body
	}
	out := bytes.NewBuffer((*h.shelf.Get(len(*body)))[:0])
	z := compressors[h.compression].Get().(resettable)
	z.Reset(out)
	_, _ = z.Write(*body) // onto a bytes.Buffer, which takes everything
	_ = z.Close()
	compressors[h.compression].Put(z)
	h.shelf.Put(body)
	b := out.Bytes()
	return &b
}
