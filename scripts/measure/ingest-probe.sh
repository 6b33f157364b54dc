#!/usr/bin/env bash
# Where the time goes at 4, 32 and 96 connections: the seconds of each stage in a second of load.
cd "$(dirname "$0")/../.." && make build && exec go run ./scripts/measure ingest-probe "$@"
