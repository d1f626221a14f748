#!/bin/sh
# Builds a GoBGP with BFD, which Debian's version does not have yet. Go builds gobgpd and gobgp from test/peers/gobgp (version in go.mod,
# checksums in go.sum) into the user's cache: 40 MB, about four minutes on two processors. Existing programs are kept.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
module=$here/../test/peers/gobgp
cache=${XDG_CACHE_HOME:-$HOME/.cache}/herald/gobgp
# test/peers/bfd-gobgp.ts computes the same path.
directory=$cache/$(cat "$module/go.mod" "$module/go.sum" | sha256sum | cut -c1-16)
package=github.com/osrg/gobgp/v4
version=$(sed -n "s|^\t$package \(v[0-9.]*\).*|\1|p" "$module/go.mod")

say() { printf 'setup: %s\n' "$*"; }
. "$here/progress.sh"
trap stop_progress EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

fail() {
  printf 'setup: %s\n' "$*" >&2
  exit 1
}

main() {
  if is_there; then
    touch "$directory"
    return 0
  fi
  check_go
  mkdir -p "$cache"
  # Concurrent builds would do the same work twice. The kernel releases the lock when this shell ends.
  exec 7>"$cache/lock"
  flock 7
  is_there || build
}

is_there() { [ -x "$directory/gobgpd" ] && [ -x "$directory/gobgp" ]; }

# Go 1.21 and later download the version that go.mod names, unless GOTOOLCHAIN forbids it.
check_go() {
  needed=$(sed -n 's/^go //p' "$module/go.mod")
  command -v go >/dev/null 2>&1 ||
    fail "Go is missing: BFD is tested against GoBGP $version, which Debian does not have. Install Go $needed or later (https://go.dev/dl/) and add its bin directory to PATH"
  (cd "$module" && go version) >/dev/null 2>&1 ||
    fail "Go $needed or later is needed for GoBGP $version; found $(GOTOOLCHAIN=local go version 2>/dev/null | cut -d' ' -f3). Install it from https://go.dev/dl/, or let Go download it with GOTOOLCHAIN=auto (Go 1.21 or later)"
}

# A directory that was not used for a month belongs to an earlier version. The new one is moved when complete, so that no other process starts
# a half-written program.
build() {
  find "$cache" -mindepth 1 -maxdepth 1 -type d -mtime +30 -exec rm -rf {} +
  say "building GoBGP $version with $(cd "$module" && go version | cut -d' ' -f3), once, into $directory (some minutes)"
  start_progress "building GoBGP $version"
  rm -rf "$directory.building"
  mkdir -p "$directory.building"
  (cd "$module" && CGO_ENABLED=0 GOFLAGS='-mod=readonly -trimpath -buildvcs=false' nice go build -p 2 -ldflags '-s -w' \
    -o "$directory.building/" "$package/cmd/gobgpd" "$package/cmd/gobgp" 7>&-) || fail "go build of GoBGP failed"
  stop_progress
  rm -rf "$directory"
  mv "$directory.building" "$directory"
  say "GoBGP is ready: $directory"
}

main
