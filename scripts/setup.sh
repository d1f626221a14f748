#!/bin/sh
# Brings a Debian machine to where `npm run demo` and `npm test` work: the routers and tools of the lab, the packages of
# package-lock.json, and Node.js 24 among them. Does only what is missing, and says nothing when nothing is.
#
#   scripts/setup.sh [PACKAGE=PROGRAM...]   further Debian packages, each with the name or the path of a program by which it is known to be there
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
policy=/usr/sbin/policy-rc.d
saved=/usr/sbin/policy-rc.d.herald-saved
marker='written by scripts/setup.sh of Herald'
log=
ours=
further=$*

# A root shell made by su without a dash has no sbin in its path.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export PATH

say() { printf 'setup: %s\n' "$*"; }

fail() {
  printf 'setup: %s\n' "$*" >&2
  exit 1
}

main() {
  [ "$(id -u)" -eq 0 ] || fail "this needs root: the lab makes network namespaces, runs routers in them and programs nftables there, and packages may have to be installed. Without root: npm run typecheck, npm run lint, npx vitest run --project unit"
  # Two at once would undo each other's guard. The lock goes when this shell ends, however it ends.
  if command -v flock >/dev/null 2>&1; then
    exec 9>/run/herald-setup.lock
    flock 9
  fi
  trap cleanup EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  lift_guard_of_killed_run
  install_debian_packages
  install_node_packages
  link_node
  check_node
  unshare --net true 2>/dev/null || fail "this root may not make network namespaces; a container needs --privileged, or CAP_SYS_ADMIN and CAP_NET_ADMIN"
}

# Lines of "package what-for" for programs that are not there. Programs are looked for, not packages: they may have come another way.
missing() {
  [ -x /usr/lib/frr/bgpd ] && [ -x /usr/lib/frr/zebra ] && command -v vtysh >/dev/null || echo 'frr (routers)'
  command -v nft >/dev/null || echo 'nftables (forwarding)'
  command -v ip >/dev/null || echo 'iproute2 (namespaces, links)'
  command -v conntrack >/dev/null || echo 'conntrack (ends stale UDP flows)'
  command -v sysctl >/dev/null || echo 'procps (sysctl)'
  for pair in $further; do
    command -v "${pair#*=}" >/dev/null || echo "${pair%%=*} (${pair##*[=/]})"
  done
}

install_debian_packages() {
  wanted=$(missing)
  [ -n "$wanted" ] || return 0
  sentence=$(printf '%s\n' "$wanted" | paste -s -d , - | sed 's/,/, /g')
  command -v apt-get >/dev/null 2>&1 || fail "missing, and there is no apt-get to install them with: $sentence"
  say "installing from Debian, for the lab and the data plane: $sentence; no service will be started"
  packages=$(printf '%s\n' "$wanted" | sed 's/ .*//')
  log=$(mktemp)
  raise_guard
  # Word splitting makes arguments of the names.
  # shellcheck disable=SC2086
  if ! known $packages; then
    update
    apt_install $packages || fail_with_log "apt-get install failed"
  elif ! apt_install $packages; then
    # What the lists name may have been replaced on the mirror.
    update
    apt_install $packages || fail_with_log "apt-get install failed"
  fi
  disable_services $packages
  lower_guard
  left=$(missing)
  [ -z "$left" ] || fail_with_log "still missing after the installation: $left"
}

known() {
  for package in "$@"; do
    apt-cache policy "$package" 2>/dev/null | grep -q 'Candidate: [0-9]' || return 1
  done
}

update() { apt_get update || fail_with_log "apt-get update failed"; }

apt_install() { apt_get install -y --no-install-recommends -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold "$@"; }

# Descriptor 9, the lock, is not for apt's children: one that stayed would hold it.
apt_get() {
  DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 apt-get -q -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0 "$@" >>"$log" 2>&1 </dev/null 9>&-
}

fail_with_log() {
  tail -n 25 "$log" >&2
  fail "$*"
}

# Debian starts what it installs unless policy-rc.d says 101 (Debian policy 9.3.3, invoke-rc.d(8)).
raise_guard() {
  status=0
  [ ! -x "$policy" ] || "$policy" frr start >/dev/null 2>&1 || status=$?
  [ "$status" -ne 101 ] || return 0
  ours=yes
  # Moved, not copied: what comes back is the same file, with its mode, owner and times.
  if [ -e "$policy" ] || [ -L "$policy" ]; then mv "$policy" "$saved"; fi
  printf '#!/bin/sh\n# %s; goes away when that ends\nexit 101\n' "$marker" >"$policy"
  chmod 0755 "$policy"
}

lower_guard() {
  [ -n "$ours" ] || return 0
  rm -f "$policy"
  if [ -e "$saved" ] || [ -L "$saved" ]; then mv "$saved" "$policy"; fi
  ours=
}

lift_guard_of_killed_run() {
  if grep -qs "$marker" "$policy"; then ours=yes; fi
  if [ ! -e "$policy" ] && { [ -e "$saved" ] || [ -L "$saved" ]; }; then ours=yes; fi
  lower_guard
}

# Packages of daemons enable their services; daemons of the lab are started by the lab, and the host asked for none.
disable_services() {
  for package in "$@"; do
    case $package in
    bird2) unit=bird ;;
    frr | gobgpd | openbgpd | exabgp | prometheus) unit=$package ;;
    *) continue ;;
    esac
    if command -v systemctl >/dev/null 2>&1; then
      systemctl disable "$unit.service" >>"$log" 2>&1 || true
    fi
    if [ "$package" = frr ] && [ -e /run/frr/watchfrr.pid ]; then
      /usr/lib/frr/frrinit.sh stop >>"$log" 2>&1 || fail_with_log "FRR was started by its installation and could not be stopped"
    fi
  done
}

# npm writes node_modules/.package-lock.json last, so that it tells of an installation that was finished, and when.
install_node_packages() {
  stamp=$root/node_modules/.package-lock.json
  if [ -e "$stamp" ] && [ ! "$root/package-lock.json" -nt "$stamp" ]; then return 0; fi
  command -v npm >/dev/null 2>&1 || fail "npm is missing: apt-get install npm"
  say "installing the packages of package-lock.json into node_modules, Node.js 24 among them; no install scripts are run"
  log=${log:-$(mktemp)}
  (cd "$root" && npm ci --ignore-scripts --no-fund --no-audit >>"$log" 2>&1 </dev/null 9>&-) || {
    # The cause comes first and the usage text after it. Two spellings, of npm 9 and of later ones.
    grep -E '^npm (ERR!|error)' "$log" | head -n 12 >&2
    fail "npm ci failed"
  }
  touch "$stamp"
}

# Debian's npm 9.2 installs the package that brings Node.js but makes no link to its program, as later ones do.
link_node() {
  link=$root/node_modules/.bin/node
  [ ! -x "$link" ] || return 0
  for program in "$root"/node_modules/node-linux-*/bin/node; do
    if [ -x "$program" ] && "$program" --version >/dev/null 2>&1; then
      ln -sf "../${program#"$root"/node_modules/}" "$link"
      return 0
    fi
  done
}

check_node() {
  for node in "$root/node_modules/.bin/node" node; do
    version=$("$node" --version 2>/dev/null) || continue
    major=${version#v}
    major=${major%%.*}
    [ "$major" -lt 24 ] || return 0
  done
  fail "Node.js 24 or later is needed; found ${version:-none}. package-lock.json brings one for Linux on x64 and arm64: npm ci --ignore-scripts; or install it from nodejs.org"
}

cleanup() {
  lower_guard
  [ -z "$log" ] || rm -f "$log"
}

main
