package storage

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
)

const addressFile = "mira.addr"

// Address is where a running server listens: the content of mira.addr.
type Address struct {
	GRPC string `json:"grpc"`
	HTTP string `json:"http"`
	API  string `json:"api,omitempty"` // where the API has a port of its own
	PID  int    `json:"pid"`
}

// WriteAddress tells other programs where this server listens.
func (s *Store) WriteAddress(a Address) error {
	b, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return writeFile(s.fs, s.dir, addressFile, append(b, '\n'))
}

// RemoveAddress takes WriteAddress back.
func (s *Store) RemoveAddress() error {
	err := s.fs.Remove(filepath.Join(s.dir, addressFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
