#!/usr/bin/env bash
# One log for each of three signals against one for all, 32 writers on one disk, without a server.
cd "$(dirname "$0")/../.." && make build && exec go run ./scripts/measure wal-split-ab "$@"
