#!/bin/sh
# Prepares a Debian machine for `npm run test:cluster`: installs containerd, runc, the CNI plugins and buildah, makes the Debian roots of the
# images, and builds kubectl, Helm, Kubernetes' programs and its e2e tests with Go from test/cluster/kubernetes (versions in MINOR.mod,
# checksums in MINOR.sum) into the user's cache. On two processors an empty cache takes about 40 minutes for a minor. Existing programs are kept.
#
#   scripts/setup-cluster.sh [MINOR...]   such as 1.35; default: 1.36
set -eu

here=$(cd "$(dirname "$0")" && pwd)
module=$here/../test/cluster/kubernetes
cache=${XDG_CACHE_HOME:-$HOME/.cache}/herald/cluster
[ $# -gt 0 ] || set -- 1.36

say() { printf 'setup: %s\n' "$*"; }
. "$here/progress.sh"

fail() {
  printf 'setup: %s\n' "$*" >&2
  exit 1
}

main() {
  for minor in "$@"; do
    [ -f "$module/$minor.mod" ] || fail "unknown minor $minor of Kubernetes: see test/cluster/kubernetes"
  done
  sh "$here/setup.sh" containerd=containerd runc=runc containernetworking-plugins=/usr/lib/cni/bridge buildah=buildah \
    debootstrap=debootstrap gcc=gcc libc6-dev=/usr/include/stdio.h
  sh "$here/setup-conformance.sh" kubectl helm
  sh "$here/debian-root.sh" container
  sh "$here/debian-root.sh" cluster-agnhost bind9-dnsutils conntrack curl dnsmasq-base iperf iproute2 iptables netcat-openbsd nftables procps
  [ -n "$(missing "$@")" ] || return 0
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
  # The other build has made everything.
  [ -n "$wanted" ] || return 0
  count=$(printf '%s\n' "$wanted" | wc -l | tr -d ' ')
  number=0
  # Each line is a minor, a program and its package, which are split into arguments on purpose.
  # shellcheck disable=SC2086
  printf '%s\n' "$wanted" | while read -r line; do
    number=$((number + 1))
    build $line
  done
}

# test/cluster/programs.ts computes the same path.
directory_of() {
  digest=$( (cd "$module" && cat "$1.mod" "$1.sum" packages e2e/e2e_test.go) | sha256sum | cut -c1-16)
  printf '%s/kubernetes-%s-%s\n' "$cache" "$1" "$digest"
}

# Prints a line "1.36 kubelet k8s.io/kubernetes/cmd/kubelet" for each missing program.
missing() {
  for minor in "$@"; do
    directory=$(directory_of "$minor")
    [ ! -d "$directory" ] || touch "$directory"
    while read -r program package; do
      [ -x "$directory/$program" ] || printf '%s %s %s\n' "$minor" "$program" "$package"
    done <"$module/packages"
  done
}

# Go 1.21 and later download the version that MINOR.mod names, unless GOTOOLCHAIN forbids it.
check_go() {
  needed=$(sed -n 's/^go //p' "$module/$minor.mod")
  command -v go >/dev/null 2>&1 ||
    fail "Go is missing: the cluster of the tests runs programs of Kubernetes $version. Install Go $needed or later (https://go.dev/dl/) and add its bin directory to PATH"
  (cd "$module" && go list -modfile="$minor.mod" -m) >/dev/null 2>&1 </dev/null ||
    fail "Go $needed or later is needed for Kubernetes $version; found $(GOTOOLCHAIN=local go version 2>/dev/null | cut -d' ' -f3). Install it from https://go.dev/dl/, or let Go download it with GOTOOLCHAIN=auto (Go 1.21 or later)"
}

# Builds without cgo and without local paths, so that the program is the same on every machine. readonly checks the checksums of MINOR.sum.
build() {
  minor=$1
  program=$2
  package=$3
  version=$(sed -n 's|^\tk8s.io/kubernetes \(v[0-9.]*\)$|\1|p' "$module/$minor.mod")
  check_go
  directory=$(directory_of "$minor")
  mkdir -p "$directory"
  say "building $program of Kubernetes $version, program $number of $count, once, into $directory"
  start_progress "building $program $version, program $number of $count"
  info=k8s.io/component-base/version
  flags="-s -w -X $info.gitVersion=$version -X $info.gitMajor=1 -X $info.gitMinor=${minor#*.}"
  case $program in
  *.test) set -- test -c -vet=off ;;
  *) set -- build ;;
  esac
  (cd "$module" && CGO_ENABLED=0 GOFLAGS='-mod=readonly -trimpath -buildvcs=false' nice go "$@" -modfile="$minor.mod" -p 2 -ldflags "$flags" \
    -o "$directory/$program.building" "$package" 7>&- </dev/null) || fail "go $1 of $program failed"
  stop_progress
  # Moved when complete, so that no other process starts a half-written program.
  mv "$directory/$program.building" "$directory/$program"
}

main "$@"
