#!/usr/bin/env bash
# Compares the benchmarks of the tree with those of the commit BASE: COUNT runs of each, taken in
# turns (base, tree, tree, base, …) so that a machine that gets slower does so for both.
# Arguments are packages; default all.
set -euo pipefail
cd "$(dirname "$0")/.."
base=$(mktemp -d)
trap 'git worktree remove --force "$base/tree"; rm -rf "$base"' EXIT
git worktree add --detach "$base/tree" "${BASE:-HEAD~1}" > /dev/null
[[ $# -gt 0 ]] || set -- ./...

run() { (cd "$1" && go test -run '^$' -bench . -benchmem "${@:3}") | tee -a "$2" | grep -E '^(Benchmark|FAIL)' || true; }
mkdir -p bin
rm -f bin/base.txt bin/tree.txt
out=$PWD/bin
for ((i = 0; i < ${COUNT:-8}; i++)); do
	if ((i % 2 == 0)); then
		run "$base/tree" "$out/base.txt" "$@"
		run . "$out/tree.txt" "$@"
	else
		run . "$out/tree.txt" "$@"
		run "$base/tree" "$out/base.txt" "$@"
	fi
done
go tool -modfile=scripts/tools/go.mod benchstat bin/base.txt bin/tree.txt
