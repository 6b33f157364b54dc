#!/usr/bin/env bash
# A vectored write and fdatasync against the same two through io_uring; one writer, without a server.
cd "$(dirname "$0")/../.." && make build && exec go run ./scripts/measure uring-probe "$@"
