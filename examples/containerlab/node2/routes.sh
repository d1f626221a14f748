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
addr replace 10.0.0.12/32 dev lo
addr replace fd00::12/128 dev lo
route replace default src 10.0.0.12 nexthop via 10.1.0.1 nexthop via 10.2.0.1
route replace default src fd00::12 nexthop via fd00:1::1 nexthop via fd00:2::1
EOT
