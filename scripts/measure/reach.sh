#!/usr/bin/env bash
# Signals against each other, latency over a bare sync, idling, replay.
cd "$(dirname "$0")/../.." && make build && exec go run ./scripts/measure reach "$@"
