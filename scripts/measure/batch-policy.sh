#!/usr/bin/env bash
# The size of a request against records per sync and per block.
cd "$(dirname "$0")/../.." && make build && exec go run ./scripts/measure batch-policy "$@"
