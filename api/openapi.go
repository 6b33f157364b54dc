package api

import (
	_ "embed"
	"net/http"
)

const openapiPath = "/api/openapi.yaml"

//go:embed openapi.yaml
var openapiDocument []byte

// openapi answers with the contract of this API.
func openapi(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Content-Type", "application/yaml")
	if r.Method == http.MethodGet {
		_, _ = w.Write(openapiDocument) // the client may be gone, there is nobody else to tell
	}
	return nil
}
