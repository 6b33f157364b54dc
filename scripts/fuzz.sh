#!/usr/bin/env bash
# Runs every fuzz target of the project for FUZZTIME, JOBS at a time, each with one worker.
# The found inputs stay in Go's cache; one that fails is written to the package's testdata.
# Arguments, if any, are patterns for the names of the targets.
set -euo pipefail
cd "$(dirname "$0")/.."
export FUZZTIME=${FUZZTIME:-20s}
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
export logs

# once NAME DIR LOG: one run.
once() {
	(cd "$2" && go test -run '^$' -fuzz "^$1\$" -fuzztime "$FUZZTIME" -fuzzminimizetime 10x -parallel 1 .) > "$3" 2>&1
}

# The fuzzing engine now and then reports the end of its own time as a failure (it says "context
# deadline exceeded" and names no input). Only that is tried a second time.
late() { grep -q 'context deadline exceeded' "$1" && ! grep -q 'Failing input' "$1"; }

target() {
	local log=$logs/${2//\//_}.$1
	if once "$1" "$2" "$log" || { late "$log" && once "$1" "$2" "$log"; }; then
		printf '%-24s %-20s %s\n' "$1" "$2" "$(grep -hE 'execs:|baseline' "$log" | tail -1 | sed 's/^fuzz: //')"
		return
	fi
	printf '%-24s FAILED in %s\n' "$1" "$2"
	tail -50 "$log"
	return 1
}
export -f once target late

for dir in $(grep -rlE --include='*_test.go' --exclude-dir=node_modules '^func Fuzz' . | xargs -rn1 dirname | sort -u); do
	for f in $(grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$dir"/*_test.go | cut -c6-); do
		[[ $# -gt 0 && ! $f =~ $(IFS='|'; echo "$*") ]] || echo "$f $dir"
	done
done | xargs -r -n 2 -P "${JOBS:-2}" bash -c 'target "$@"' fuzz
