#!/usr/bin/env bash
# Two binaries or two settings in ABBA pairs, for instance the last commit's mira with one P and a new one with four:
#   scripts/measure/ab.sh --a 'GOMAXPROCS=1 /tmp/mira' --b 'GOMAXPROCS=4 bin/mira --block-bytes 32MiB' --loads '--conns 4;--batch 100 --conns 32'
cd "$(dirname "$0")/../.." && make build && exec go run ./scripts/measure ab "$@"
