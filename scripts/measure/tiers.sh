#!/usr/bin/env bash
# sync, batched and buffered: one connection, herds of producers of small Exports, a ramp.
cd "$(dirname "$0")/../.." && make build && exec go run ./scripts/measure tiers "$@"
