#!/usr/bin/env bash
# Ten minutes at 96 connections: is memory flat?
cd "$(dirname "$0")/../.." && make build && exec go run ./scripts/measure soak --for 10m "$@"
