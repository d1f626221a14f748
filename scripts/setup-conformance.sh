#!/bin/sh
# Builds the Kubernetes programs of the tests: kube-proxy, kube-apiserver, etcd, kube-controller-manager, kubectl and helm; on demand also
# metallb-controller and metallb-speaker. Go builds them from test/conformance/kubernetes, tools and metallb (versions in go.mod, checksums in
# go.sum) into the user's cache. Existing programs are kept.
#
#   scripts/setup-conformance.sh [PROGRAM...]   builds only these programs; default: all but MetalLB's
set -eu

here=$(cd "$(dirname "$0")" && pwd)
modules=$here/../test/conformance
cache=${XDG_CACHE_HOME:-$HOME/.cache}/herald/conformance
version=$(sed -n 's|^\tk8s.io/kubernetes \(v[0-9.]*\)$|\1|p' "$modules/kubernetes/go.mod")
[ $# -gt 0 ] || set -- kube-proxy kube-apiserver etcd kube-controller-manager kubectl helm

say() { printf 'setup: %s\n' "$*"; }
. "$here/progress.sh"

fail() {
  printf 'setup: %s\n' "$*" >&2
  exit 1
}

main() {
  [ -n "$(missing "$@")" ] || return 0
  check_go
  mkdir -p "$cache"
  # Concurrent builds would do the same work twice. The kernel releases the lock when this shell ends.
  exec 7>"$cache/lock"
  if ! flock -n 7; then
    say "waiting for another build"
    flock 7
  fi
  trap stop_progress EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  # A directory that was not used for a month belongs to an earlier version.
  find "$cache" -mindepth 1 -maxdepth 1 -type d -mtime +30 -exec rm -rf {} +
  wanted=$(missing "$@")
  count=$(printf '%s\n' "$wanted" | wc -l | tr -d ' ')
  number=0
  for program in $wanted; do
    number=$((number + 1))
    build "$program"
  done
}

module_of() {
  for module in "$modules/kubernetes" "$modules/tools" "$modules/metallb"; do
    [ ! -d "$module/$1" ] || printf '%s\n' "$module"
  done
}

# test/conformance/programs.ts computes the same path.
directory_of() {
  module=$(module_of "$1")
  digest=$( (cd "$module" && cat go.mod go.sum && find "$1" -type f | LC_ALL=C sort | xargs cat) | sha256sum | cut -c1-16)
  printf '%s/%s\n' "$cache" "$digest"
}

# Prints the Go package of a program: its directory, or the import path in the file "package" when its main package is in another module.
package_of() {
  if [ -f "$(module_of "$1")/$1/package" ]; then cat "$(module_of "$1")/$1/package"; else printf './%s\n' "$1"; fi
}

missing() {
  for program in "$@"; do
    [ -n "$(module_of "$program")" ] || fail "unknown program $program: see test/conformance/kubernetes, tools and metallb"
    directory=$(directory_of "$program")
    if [ -x "$directory/$program" ]; then touch "$directory"; else printf '%s\n' "$program"; fi
  done
}

# Go 1.21 and later download the version that go.mod names, unless GOTOOLCHAIN forbids it.
check_go() {
  module=$modules/kubernetes
  needed=$(sed -n 's/^go //p' "$module/go.mod")
  command -v go >/dev/null 2>&1 ||
    fail "Go is missing: the tests against Kubernetes $version build its programs. Install Go $needed or later (https://go.dev/dl/) and add its bin directory to PATH"
  (cd "$module" && go version) >/dev/null 2>&1 ||
    fail "Go $needed or later is needed for Kubernetes $version; found $(GOTOOLCHAIN=local go version 2>/dev/null | cut -d' ' -f3). Install it from https://go.dev/dl/, or let Go download it with GOTOOLCHAIN=auto (Go 1.21 or later)"
}

# Builds without cgo and without local paths, so that the program is the same on every machine. readonly checks the checksums of go.sum.
build() {
  module=$(module_of "$1")
  directory=$(directory_of "$1")
  mkdir -p "$directory"
  say "building $1, program $number of $count, with $(cd "$module" && go version | cut -d' ' -f3), once, into $directory"
  start_progress "building $1, program $number of $count"
  info=k8s.io/component-base/version
  minor=${version#v*.}
  (cd "$module" && CGO_ENABLED=0 GOFLAGS='-mod=readonly -trimpath -buildvcs=false' nice go build -p 2 \
    -ldflags "-s -w -X $info.gitVersion=$version -X $info.gitMajor=1 -X $info.gitMinor=${minor%%.*}" \
    -o "$directory/$1.building" "$(package_of "$1")" 7>&-) || fail "go build of $1 failed"
  stop_progress
  # Moved when complete, so that no other process starts a half-written program.
  mv "$directory/$1.building" "$directory/$1"
  say "$1 is ready: $directory/$1"
}

main "$@"
