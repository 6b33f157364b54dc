#!/usr/bin/env bash
# The log on a tmpfs against the log on the disk: what would a perfect log be worth?
cd "$(dirname "$0")/../.." && make build && exec go run ./scripts/measure wal-volume "$@"
