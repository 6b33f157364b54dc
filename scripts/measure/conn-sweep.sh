#!/usr/bin/env bash
# What a connection more brings, from 1 to 96, and what the goals say of 4, 32 and 96.
cd "$(dirname "$0")/../.." && make build && exec go run ./scripts/measure conn-sweep "$@"
