#!/bin/sh
# Builds the programs of Kubernetes that tests run against: kube-proxy, kube-apiserver, etcd and kube-controller-manager, and those that
# its users have, kubectl and helm, by the Go tool chain, from test/conformance/kubernetes and tools (versions in go.mod, checksums
# in go.sum). Only what is missing, into the user's cache.
#
#   scripts/setup-conformance.sh [PROGRAM...]   only these programs; all of them by default
set -eu

here=$(cd "$(dirname "$0")" && pwd)
modules=$here/../test/conformance
cache=${XDG_CACHE_HOME:-$HOME/.cache}/herald/conformance
version=$(sed -n 's|^\tk8s.io/kubernetes \(v[0-9.]*\)$|\1|p' "$modules/kubernetes/go.mod")
[ $# -gt 0 ] || set -- kube-proxy kube-apiserver etcd kube-controller-manager kubectl helm
ticker=

say() { printf 'setup: %s\n' "$*"; }

fail() {
  printf 'setup: %s\n' "$*" >&2
  exit 1
}

main() {
  [ -n "$(missing "$@")" ] || return 0
  check_go
  mkdir -p "$cache"
  # Two builds at once would do all the work twice. The lock goes when this shell ends, however it ends.
  exec 7>"$cache/lock"
  if ! flock -n 7; then
    say "another build runs; waiting for it"
    flock 7
  fi
  trap stop_ticker EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  # What nobody has built or asked for in a month was left by an earlier version.
  find "$cache" -mindepth 1 -maxdepth 1 -type d -mtime +30 -exec rm -rf {} +
  wanted=$(missing "$@")
  for program in $wanted; do build "$program"; done
}

module_of() {
  for module in "$modules/kubernetes" "$modules/tools"; do
    [ ! -f "$module/$1/main.go" ] || printf '%s\n' "$module"
  done
}

# test/conformance/programs.ts looks in the same place.
directory_of() {
  module=$(module_of "$1")
  digest=$(cat "$module/go.mod" "$module/go.sum" "$module/$1/main.go" | sha256sum | cut -c1-16)
  printf '%s/%s\n' "$cache" "$digest"
}

missing() {
  for program in "$@"; do
    [ -n "$(module_of "$program")" ] || fail "$program is none of the programs in test/conformance/kubernetes and tools"
    directory=$(directory_of "$program")
    if [ -x "$directory/$program" ]; then touch "$directory"; else printf '%s\n' "$program"; fi
  done
}

# Go 1.21 and later fetch the version that go.mod asks for, unless GOTOOLCHAIN forbids it.
check_go() {
  module=$modules/kubernetes
  needed=$(sed -n 's/^go //p' "$module/go.mod")
  command -v go >/dev/null 2>&1 ||
    fail "Go is missing: the tests against Kubernetes $version build its programs. Install Go $needed or later (https://go.dev/dl/) and put its bin directory into PATH"
  (cd "$module" && go version) >/dev/null 2>&1 ||
    fail "Go $needed or later is needed for Kubernetes $version; found $(GOTOOLCHAIN=local go version 2>/dev/null | cut -d' ' -f3). Install it from https://go.dev/dl/, or let this one fetch it: GOTOOLCHAIN=auto (Go 1.21 or later)"
}

# No cgo and no paths of this machine, so that the program is the same wherever it was built. Checksums are of go.sum: readonly.
build() {
  module=$(module_of "$1")
  directory=$(directory_of "$1")
  mkdir -p "$directory"
  say "building $1 with $(cd "$module" && go version | cut -d' ' -f3), once, into $directory"
  start_ticker "$1"
  info=k8s.io/component-base/version
  minor=${version#v*.}
  (cd "$module" && CGO_ENABLED=0 GOFLAGS='-mod=readonly -trimpath -buildvcs=false' nice go build -p 2 \
    -ldflags "-s -w -X $info.gitVersion=$version -X $info.gitMajor=1 -X $info.gitMinor=${minor%%.*}" \
    -o "$directory/$1.building" "./$1" 7>&-) || fail "go build of $1 failed"
  stop_ticker
  # Whoever looks finds the whole program or none.
  mv "$directory/$1.building" "$directory/$1"
  say "$1 is ready: $directory/$1"
}

# go build says nothing for minutes.
start_ticker() {
  (
    exec 7>&-
    seconds=0
    while sleep 30; do
      seconds=$((seconds + 30))
      say "building $1: $seconds s"
    done
  ) &
  ticker=$!
}

stop_ticker() {
  [ -z "$ticker" ] || kill "$ticker" 2>/dev/null || true
  ticker=
}

main "$@"
