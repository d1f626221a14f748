#!/bin/sh
# Makes a Debian trixie root in a directory of its own, for programs that run in a chroot. Only where there is none with these packages.
# HERALD_DEBIAN_MIRROR says where from; by default from where this machine's apt has its packages.
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
# Written last. Another list of packages makes another root.
stamp=$root/.herald-packages
building=$root.building
log=$root.log

say() { printf 'setup: %s\n' "$*"; }

fail() {
  [ ! -s "$log" ] || tail -n 25 "$log" >&2
  printf 'setup: %s\n' "$*" >&2
  exit 1
}

main() {
  mkdir -p "$cache"
  # Two at once would build in one another's directory. The lock goes when this shell ends, however it ends.
  exec 8>"$cache/lock"
  flock 8
  if [ -e "$stamp" ] && [ "$(cat "$stamp")" = "$packages" ]; then return 0; fi
  mirror=${HERALD_DEBIAN_MIRROR:-$(mirror_of_apt)} || fail 'apt knows no mirror of Debian: name one in HERALD_DEBIAN_MIRROR'
  proxy=$(apt-config dump | grep -E '^Acquire::https?::Proxy ' || true)
  say "building a Debian trixie root in $root, once, for ${packages:-nothing else} (about a minute)"
  rm -rf --one-file-system "$building" "$root"
  : >"$log"
  say "1/3 debootstrap from $mirror"
  bootstrap >>"$log" 2>&1 8>&- || fail "debootstrap of trixie from $mirror failed; the whole log is $log. Another mirror: HERALD_DEBIAN_MIRROR=http://..."
  # Debian starts what it installs unless policy-rc.d says 101 (invoke-rc.d(8)).
  printf '#!/bin/sh\nexit 101\n' >"$building/usr/sbin/policy-rc.d"
  chmod 0755 "$building/usr/sbin/policy-rc.d"
  cp -L /etc/resolv.conf "$building/etc/resolv.conf"
  printf '%s\n' "$proxy" >"$building/etc/apt/apt.conf.d/00proxy"
  say "2/3 apt-get update"
  apt_get update || fail "apt-get update in the trixie root failed; the whole log is $log"
  say "3/3 apt-get install $packages"
  # Word splitting makes arguments of the names.
  # shellcheck disable=SC2086
  [ -z "$packages" ] || apt_get install -y --no-install-recommends $packages || fail "apt-get install of $packages in the trixie root failed; the whole log is $log"
  rm -rf "$building"/var/cache/apt/archives/*.deb "$building"/var/lib/apt/lists/*
  printf '%s\n' "$packages" >"$building/${stamp##*/}"
  mv "$building" "$root"
  say "the trixie root is ready"
}

# debootstrap fetches with wget, which does not read apt's settings. What it mounts goes away with it, also when it is killed.
bootstrap() {
  eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy)"
  [ -z "${http_proxy:-}" ] || export http_proxy
  [ -z "${https_proxy:-}" ] || export https_proxy
  unshare --mount debootstrap --variant=minbase trixie "$building" "$mirror"
}

# Descriptor 8, the lock, is not for children that may stay.
apt_get() {
  DEBIAN_FRONTEND=noninteractive LC_ALL=C unshare --mount chroot "$building" apt-get -q -o Dpkg::Use-Pty=0 "$@" >>"$log" 2>&1 </dev/null 8>&-
}

mirror_of_apt() {
  apt-get indextargets --format '$(ORIGIN) $(CODENAME) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    sed -n 's/^Debian [a-z]* //p' | head -n 1 | grep .
}

main
