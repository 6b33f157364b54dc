#!/usr/bin/env bash
# Mira against two Collectors: one that receives and drops, and one whose queue is in a synced file.
cd "$(dirname "$0")/../.." && make build && exec go run ./scripts/measure vs-collector "$@"
