package receiver

import (
	"bytes"
	"encoding/json"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// encodeStatus renders st in the encoding of the request.
func encodeStatus(st *spb.Status, asJSON bool) []byte {
	if !asJSON {
		body, err := proto.Marshal(st)
		if err != nil {
			return nil // only invalid UTF-8 does that, and plain has been over it
		}
		return body
	}
	body, err := protojson.Marshal(st)
	if err != nil {
		return []byte(`{"code":13,"message":"the error cannot be told"}`)
	}
	var compact bytes.Buffer
	if json.Compact(&compact, body) != nil { // protojson varies its blanks on purpose
		return body
	}
	return compact.Bytes()
}
