#!/bin/sh
# Brings a Debian machine to where `npm run test:peers` works: what setup.sh does, the BGP daemons of this Debian, a GoBGP with BFD
# (setup-gobgp.sh, which needs Go), and a Debian trixie root with newer daemons, which run in a chroot. The root is made once, outside of
# the repository, and takes about a minute and 450 MB. HERALD_DEBIAN_MIRROR says where from; by default from where this machine's apt has
# its packages.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
sh "$here/setup.sh" bird2=bird gobgpd=gobgpd openbgpd=/usr/sbin/bgpd debootstrap=debootstrap
sh "$here/setup-gobgp.sh"
sh "$here/debian-root.sh" trixie frr bird3
