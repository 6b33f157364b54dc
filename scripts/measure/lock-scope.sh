#!/usr/bin/env bash
# Throughput and latency against concurrency: the curve has to rise to the limit of the cores.
cd "$(dirname "$0")/../.." && make build && exec go run ./scripts/measure lock-scope "$@"
