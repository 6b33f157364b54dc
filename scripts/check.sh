#!/usr/bin/env bash
# Makes the given targets one after the other, tells how long each took, and at last that none of
# them changed the tree. In CI the tree has to be clean.
set -euo pipefail
cd "$(dirname "$0")/.."

state() { git status --porcelain && git diff | git hash-object --stdin; }
before=$(state)

for target in "$@"; do
	begin=$SECONDS
	echo "== $target"
	make "$target"
	echo "== $target: $((SECONDS - begin)) s"
done

if [[ $(state) != "$before" ]]; then
	echo "the tree was changed by the above:" >&2
	git status --short >&2
	exit 1
fi
if [[ -n ${CI:-} && -n $(git status --porcelain) ]]; then
	echo "the tree is not clean:" >&2
	git status --short >&2
	exit 1
fi
echo "== all: $SECONDS s"
