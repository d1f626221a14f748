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
ip link set lo up
ip -batch - <<'EOT'
link add br0 address 02:da:00:b4:ea:3c type bridge
link set node1 master br0
link set node2 master br0
link set node3 master br0
addr add 10.2.0.1/24 dev br0
addr add fd00:2::1/64 dev br0 nodad
addr add 10.8.2.2/24 dev spine
addr add fd00:8:2::2/64 dev spine nodad
link set br0 up
link set spine up
link set node1 up
link set node2 up
link set node3 up
route add 10.9.0.0/24 via 10.8.2.1
route add fd00:9::/64 via fd00:8:2::1
route add 10.1.0.0/24 via 10.8.2.1
route add fd00:1::/64 via fd00:8:2::1
route add 10.0.0.11 via 10.2.0.11
route add fd00::11 via fd00:2::11
route add 10.244.1.0/24 via 10.2.0.11
route add fd00:244:1::/64 via fd00:2::11
route add 10.0.0.12 via 10.2.0.12
route add fd00::12 via fd00:2::12
route add 10.244.2.0/24 via 10.2.0.12
route add fd00:244:2::/64 via fd00:2::12
route add 10.0.0.13 via 10.2.0.13
route add fd00::13 via fd00:2::13
route add 10.244.3.0/24 via 10.2.0.13
route add fd00:244:3::/64 via fd00:2::13
EOT
