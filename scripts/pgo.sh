#!/usr/bin/env bash
# Records cmd/mira/default.pgo, which every build of the server is optimised with: the CPU profile
# of a server under five loads, each for SECONDS_EACH seconds. Run it on an idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${SECONDS_EACH:-10}
dir=$(mktemp -d)
server=
trap 'if [[ -n $server ]]; then kill "$server"; fi; rm -rf "$dir"' EXIT
go build -trimpath -pgo=off -tags profile -o "$dir/mira" ./cmd/mira
go build -o "$dir/loadgen" ./cmd/loadgen

# record N FLAGS...: the profile of one load, without the start and the end.
record() {
	local n=$1 grpc=$((20317 + 3 * $1))
	shift
	MIRA_PROFILE=$dir/$n.prof "$dir/mira" --data-dir "$dir/data$n" --listen-grpc "localhost:$grpc" \
		--listen-http "localhost:$((grpc + 1))" --listen-api "localhost:$((grpc + 2))" &> "$dir/log" &
	server=$!
	for _ in $(seq 100); do
		curl -sf "http://localhost:$((grpc + 2))/readyz" > /dev/null && break
		sleep 0.1
	done
	local port=$grpc
	[[ $* != *http* ]] || port=$((grpc + 1))
	"$dir/loadgen" --target "localhost:$port" --for "${seconds}s" "$@" | grep 'records/s' || true
	kill -USR1 "$server"
	sleep 1
	kill "$server"
	wait "$server" || true
	server=
	rm -rf "$dir/data$n"
}

record 1 --shape lean --conns 4
record 2 --shape rich --conns 4
record 3 --shape lean --conns 8 --batch 100
record 4 --shape rich --conns 4 --protocol http
record 5 --shape rich --conns 4 --signals traces,metrics
go tool pprof -proto "$dir"/*.prof > cmd/mira/default.pgo
