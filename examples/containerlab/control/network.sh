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
ip link set lo up
