#!/usr/bin/env bash
# A build that publishes blocks without their barriers (tag weaksync) against the released one.
cd "$(dirname "$0")/../.." && make build && exec go run ./scripts/measure publish-barrier "$@"
