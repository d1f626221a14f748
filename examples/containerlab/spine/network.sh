#!/bin/sh
# Written by npm run generate from test/lab/standard-topology.ts.
set -e
echo 0 >/proc/sys/net/ipv6/conf/all/disable_ipv6
for file in /proc/sys/net/ipv6/conf/*/disable_ipv6; do echo 0 >"$file"; done
echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
for file in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 >"$file"; done
echo 0 >/proc/sys/net/ipv4/conf/all/send_redirects
for file in /proc/sys/net/ipv4/conf/*/send_redirects; do echo 0 >"$file"; done
echo 0 >/proc/sys/net/ipv4/conf/all/accept_redirects
for file in /proc/sys/net/ipv4/conf/*/accept_redirects; do echo 0 >"$file"; done
echo 1 >/proc/sys/net/ipv4/conf/all/ignore_routes_with_linkdown
for file in /proc/sys/net/ipv4/conf/*/ignore_routes_with_linkdown; do echo 1 >"$file"; done
echo 1 >/proc/sys/net/ipv6/conf/all/ignore_routes_with_linkdown
for file in /proc/sys/net/ipv6/conf/*/ignore_routes_with_linkdown; do echo 1 >"$file"; done
echo 0 >/proc/sys/net/ipv6/conf/all/accept_dad
for file in /proc/sys/net/ipv6/conf/*/accept_dad; do echo 0 >"$file"; done
for file in /proc/sys/net/ipv6/conf/*/accept_redirects; do echo 0 >"$file"; done
echo 1 >/proc/sys/net/ipv4/ip_forward
echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
for file in /proc/sys/net/ipv6/conf/*/forwarding; do echo 1 >"$file"; done
echo 1 >/proc/sys/net/ipv4/fib_multipath_hash_policy
echo 1 >/proc/sys/net/ipv6/fib_multipath_hash_policy
echo 55 >/proc/sys/net/ipv4/fib_multipath_hash_fields
echo 3 >/proc/sys/net/ipv4/fib_multipath_hash_policy
echo 55 >/proc/sys/net/ipv6/fib_multipath_hash_fields
echo 3 >/proc/sys/net/ipv6/fib_multipath_hash_policy
ip link set lo up
ip -batch - <<'EOT'
addr add 10.9.0.1/24 dev client
addr add fd00:9::1/64 dev client nodad
addr add 10.8.1.1/24 dev tor1
addr add fd00:8:1::1/64 dev tor1 nodad
addr add 10.8.2.1/24 dev tor2
addr add fd00:8:2::1/64 dev tor2 nodad
link set client up
link set tor1 up
link set tor2 up
route add 10.244.0.0/16 nexthop via 10.8.1.2 nexthop via 10.8.2.2
route add fd00:244::/32 nexthop via fd00:8:1::2 nexthop via fd00:8:2::2
route add 10.0.0.11 nexthop via 10.8.1.2 nexthop via 10.8.2.2
route add fd00::11 nexthop via fd00:8:1::2 nexthop via fd00:8:2::2
route add 10.0.0.12 nexthop via 10.8.1.2 nexthop via 10.8.2.2
route add fd00::12 nexthop via fd00:8:1::2 nexthop via fd00:8:2::2
route add 10.0.0.13 nexthop via 10.8.1.2 nexthop via 10.8.2.2
route add fd00::13 nexthop via fd00:8:1::2 nexthop via fd00:8:2::2
route add 10.1.0.0/24 via 10.8.1.2
route add fd00:1::/64 via fd00:8:1::2
route add 10.2.0.0/24 via 10.8.2.2
route add fd00:2::/64 via fd00:8:2::2
EOT
