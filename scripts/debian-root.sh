#!/bin/sh
# Builds a Debian trixie root in its own directory, for programs that run in a chroot. Does nothing when a root with these packages exists.
# HERALD_DEBIAN_MIRROR names the mirror; the default is the mirror of this machine's apt.
#
#   scripts/debian-root.sh NAME [PACKAGE...]   /var/cache/herald/NAME
set -eu

PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export PATH
cache=/var/cache/herald
name=$1
shift
packages=$*
root=$cache/$name
# Written last, so a root with this file is complete. A changed list of packages causes a new build.
stamp=$root/.herald-packages
building=$root.building
log=$root.log

say() { printf 'setup: %s\n' "$*"; }
. "$(dirname "$0")/progress.sh"
trap stop_progress EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

fail() {
  [ ! -s "$log" ] || tail -n 25 "$log" >&2
  printf 'setup: %s\n' "$*" >&2
  exit 1
}

main() {
  mkdir -p "$cache"
  # Concurrent builds would use the same directory. The kernel releases the lock when this shell ends.
  exec 8>"$cache/lock"
  flock 8
  if [ -e "$stamp" ] && [ "$(cat "$stamp")" = "$packages" ]; then return 0; fi
  mirror=${HERALD_DEBIAN_MIRROR:-$(mirror_of_apt)} || fail 'apt has no Debian mirror: set HERALD_DEBIAN_MIRROR'
  proxy=$(apt-config dump | grep -E '^Acquire::https?::Proxy ' || true)
  say "building a Debian trixie root in $root, once, with ${packages:-no further packages} (about a minute)"
  rm -rf --one-file-system "$building" "$root"
  : >"$log"
  say "1/3 debootstrap from $mirror"
  start_progress "debootstrap" "$log"
  bootstrap >>"$log" 2>&1 8>&- || fail "debootstrap of trixie from $mirror failed; see $log, or set another mirror: HERALD_DEBIAN_MIRROR=http://..."
  # Debian starts daemons that it installs unless policy-rc.d exits with 101 (invoke-rc.d(8)).
  printf '#!/bin/sh\nexit 101\n' >"$building/usr/sbin/policy-rc.d"
  chmod 0755 "$building/usr/sbin/policy-rc.d"
  cp -L /etc/resolv.conf "$building/etc/resolv.conf"
  printf '%s\n' "$proxy" >"$building/etc/apt/apt.conf.d/00proxy"
  say "2/3 apt-get update"
  start_progress "apt-get update" "$log"
  apt_get update || fail "apt-get update in the trixie root failed; see $log"
  say "3/3 apt-get install $packages"
  start_progress "apt-get install" "$log"
  # The names are split into arguments on purpose.
  # shellcheck disable=SC2086
  [ -z "$packages" ] || apt_get install -y --no-install-recommends $packages || fail "apt-get install of $packages in the trixie root failed; see $log"
  stop_progress
  rm -rf "$building"/var/cache/apt/archives/*.deb "$building"/var/lib/apt/lists/*
  printf '%s\n' "$packages" >"$building/${stamp##*/}"
  mv "$building" "$root"
  say "the trixie root is ready"
}

# debootstrap downloads with wget, which does not read apt's proxy settings. Its mounts are in their own namespace, so they disappear with it
# even when it is killed.
bootstrap() {
  eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy)"
  [ -z "${http_proxy:-}" ] || export http_proxy
  [ -z "${https_proxy:-}" ] || export https_proxy
  unshare --mount debootstrap --variant=minbase trixie "$building" "$mirror"
}

# Children do not inherit descriptor 8, the lock, because a child that keeps running would hold it.
apt_get() {
  DEBIAN_FRONTEND=noninteractive LC_ALL=C unshare --mount chroot "$building" apt-get -q -o Dpkg::Use-Pty=0 "$@" >>"$log" 2>&1 </dev/null 8>&-
}

mirror_of_apt() {
  apt-get indextargets --format '$(ORIGIN) $(CODENAME) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    sed -n 's/^Debian [a-z]* //p' | head -n 1 | grep .
}

main
