#!/bin/sh
# Prepares a Debian machine for `npm run test:peers`: runs setup.sh and installs the BIRD and the BMP collector of this Debian. With TIER=full it
# also installs the other BGP daemons, builds a GoBGP with BFD (setup-gobgp.sh, which needs Go), and builds a Debian trixie root with newer daemons,
# which run in a chroot. The root is built once, outside the repository, and takes about a minute and 450 MB. HERALD_DEBIAN_MIRROR names the mirror;
# the default is the mirror of this machine's apt.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
sh "$here/setup.sh" bird2=bird pmacct=/usr/sbin/pmbmpd
[ "${TIER:-}" = full ] || exit 0
sh "$here/setup.sh" gobgpd=gobgpd openbgpd=/usr/sbin/bgpd debootstrap=debootstrap
sh "$here/setup-gobgp.sh"
sh "$here/debian-root.sh" trixie frr bird3
