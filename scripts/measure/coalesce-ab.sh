#!/usr/bin/env bash
# No window for company, fixed ones, and one that follows the sync time; the log alone, without a server.
cd "$(dirname "$0")/../.." && make build && exec go run ./scripts/measure coalesce-ab "$@"
