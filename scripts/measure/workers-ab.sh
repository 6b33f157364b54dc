#!/usr/bin/env bash
# GOMAXPROCS beyond the cores.
cd "$(dirname "$0")/../.." && make build && exec go run ./scripts/measure workers-ab "$@"
