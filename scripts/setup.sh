#!/bin/sh
# Prepares a Debian machine for `npm run demo` and `npm test`: installs the routers and tools of the lab and the packages of
# package-lock.json, which include Node.js 24. Installs only what is missing, and prints nothing when nothing is.
#
#   scripts/setup.sh [PACKAGE=PROGRAM...]   further Debian packages. A package counts as installed when PROGRAM, a name or a path, exists.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
policy=/usr/sbin/policy-rc.d
saved=/usr/sbin/policy-rc.d.herald-saved
marker='written by scripts/setup.sh of Herald'
log=
ours=
further=$*

# A root shell that `su` started without a dash has no sbin in its PATH.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export PATH

say() { printf 'setup: %s\n' "$*"; }
. "$root/scripts/progress.sh"

fail() {
  printf 'setup: %s\n' "$*" >&2
  exit 1
}

main() {
  [ "$(id -u)" -eq 0 ] || fail "this needs root, to make network namespaces, run routers and nftables in them, and install packages. Without root you can run: npm run typecheck, npm run lint, npx vitest run --project unit"
  # Concurrent runs would remove each other's policy-rc.d. The kernel releases the lock when this shell ends.
  if command -v flock >/dev/null 2>&1; then
    exec 9>/run/herald-setup.lock
    flock 9
  fi
  trap cleanup EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  restore_policy_of_killed_run
  install_debian_packages
  install_node_packages
  link_node
  check_node
  unshare --net true 2>/dev/null || fail "root may not make network namespaces here; a container needs --privileged, or CAP_SYS_ADMIN and CAP_NET_ADMIN"
}

# Prints a line "package (purpose)" for each missing program. Checks programs, not packages, because they may be installed another way.
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
  command -v apt-get >/dev/null 2>&1 || fail "these packages are missing, and there is no apt-get to install them: $sentence"
  say "installing from Debian: $sentence; no service is started"
  packages=$(printf '%s\n' "$wanted" | sed 's/ .*//')
  log=$(mktemp)
  start_progress "installing $(printf '%s\n' "$packages" | wc -l | tr -d ' ') packages of Debian" "$log"
  block_service_starts
  # The names are split into arguments on purpose.
  # shellcheck disable=SC2086
  if ! known $packages; then
    update
    apt_install $packages || fail_with_log "apt-get install failed"
  elif ! apt_install $packages; then
    # The mirror may have replaced the versions that the package lists name.
    update
    apt_install $packages || fail_with_log "apt-get install failed"
  fi
  disable_services $packages
  restore_policy
  stop_progress
  left=$(missing)
  [ -z "$left" ] || fail_with_log "still missing after the installation: $left"
}

known() {
  for package in "$@"; do
    apt-cache policy "$package" 2>/dev/null | grep -q 'Candidate: [0-9]' || return 1
  done
}

update() {
  say "reading Debian's lists of packages"
  apt_get update || fail_with_log "apt-get update failed"
}

apt_install() { apt_get install -y --no-install-recommends -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold "$@"; }

# Children of apt do not inherit descriptor 9, the lock, because a child that keeps running would hold it.
apt_get() {
  DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 apt-get -q -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0 "$@" >>"$log" 2>&1 </dev/null 9>&-
}

fail_with_log() {
  tail -n 25 "$log" >&2
  fail "$*"
}

# Writes a policy-rc.d that exits with 101. Otherwise Debian starts daemons that it installs (Debian policy 9.3.3, invoke-rc.d(8)).
block_service_starts() {
  status=0
  [ ! -x "$policy" ] || "$policy" frr start >/dev/null 2>&1 || status=$?
  [ "$status" -ne 101 ] || return 0
  ours=yes
  # Moved and not copied, so that the file comes back with its mode, owner and times.
  if [ -e "$policy" ] || [ -L "$policy" ]; then mv "$policy" "$saved"; fi
  printf '#!/bin/sh\n# %s; removed when that ends\nexit 101\n' "$marker" >"$policy"
  chmod 0755 "$policy"
}

restore_policy() {
  [ -n "$ours" ] || return 0
  rm -f "$policy"
  if [ -e "$saved" ] || [ -L "$saved" ]; then mv "$saved" "$policy"; fi
  ours=
}

restore_policy_of_killed_run() {
  if grep -qs "$marker" "$policy"; then ours=yes; fi
  if [ ! -e "$policy" ] && { [ -e "$saved" ] || [ -L "$saved" ]; }; then ours=yes; fi
  restore_policy
}

# Disables the services that packages of daemons enable. The lab starts its own daemons, and the host needs none.
disable_services() {
  for package in "$@"; do
    case $package in
    bird2) unit=bird ;;
    pmacct) unit='nfacctd pmacctd sfacctd uacctd' ;;
    containerd | frr | gobgpd | openbgpd | exabgp | prometheus) unit=$package ;;
    *) continue ;;
    esac
    if command -v systemctl >/dev/null 2>&1; then
      # The names are split into arguments on purpose.
      # shellcheck disable=SC2086
      systemctl disable $unit >>"$log" 2>&1 || true
    fi
    if [ "$package" = frr ] && [ -e /run/frr/watchfrr.pid ]; then
      /usr/lib/frr/frrinit.sh stop >>"$log" 2>&1 || fail_with_log "FRR was started by its installation and could not be stopped"
    fi
  done
}

# npm writes node_modules/.package-lock.json last, so its time is when the installation was complete.
install_node_packages() {
  stamp=$root/node_modules/.package-lock.json
  if [ -e "$stamp" ] && [ ! "$root/package-lock.json" -nt "$stamp" ]; then return 0; fi
  # npm would empty the folder behind the link, from which another checkout may be running.
  [ ! -L "$root/node_modules" ] || fail "node_modules is a link to $(readlink "$root/node_modules"), and its packages are older than package-lock.json; remove the link, or run npm ci --ignore-scripts there"
  command -v npm >/dev/null 2>&1 || fail "npm is missing; install it with: apt-get install npm"
  say "installing the packages of package-lock.json into node_modules, including Node.js 24, without install scripts"
  log=${log:-$(mktemp)}
  start_progress "installing $(grep -c '"node_modules/' "$root/package-lock.json") packages with npm"
  (cd "$root" && npm ci --ignore-scripts --no-fund --no-audit >>"$log" 2>&1 </dev/null 9>&-) || {
    # Prints the first errors, because npm prints the cause before the usage text. npm 9 writes ERR!, later versions write error.
    grep -E '^npm (ERR!|error)' "$log" | head -n 12 >&2
    fail "npm ci failed"
  }
  stop_progress
  touch "$stamp"
}

# Links node_modules/.bin/node. Debian's npm 9.2 installs the package that contains Node.js without this link; later versions make it.
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
  fail "Node.js 24 or later is needed; found ${version:-none}. On Linux x64 and arm64, npm ci --ignore-scripts installs it; otherwise install it from nodejs.org"
}

cleanup() {
  stop_progress
  restore_policy
  [ -z "$log" ] || rm -f "$log"
}

main
