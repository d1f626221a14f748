import { run } from './command.ts';

/** Runs lines of `ip` in one process, in a namespace or, for creating veth pairs, outside of all namespaces. */
export async function ip(lines: readonly string[], namespace?: string): Promise<void> {
  if (lines.length === 0) return;
  await run(['ip', ...(namespace === undefined ? [] : ['-n', namespace]), '-batch', '-'], { input: `${lines.join('\n')}\n` });
}

/** Returns the command line that runs `argv` in a namespace. The process id does not change. */
export function inNamespace(namespace: string, argv: readonly string[]): readonly string[] {
  return ['ip', 'netns', 'exec', namespace, ...argv];
}

/**
 * Settings for a fresh namespace. They must be set before it has links, because new links copy `default`.
 *
 * - No duplicate address detection: the lab owns both ends, and a tentative IPv6 address cannot be a source for a second.
 * - No reverse path filter: with two ToRs an answer may leave by another link than the request arrived by.
 * - Routes whose link has no carrier are skipped. Otherwise half of an unplugged node's traffic would be lost.
 * - ICMP redirects are neither sent nor accepted: ToRs send packets back onto the network they came from.
 */
const hostSettings: readonly string[] = [
  'net.ipv4.conf.all.rp_filter=0',
  'net.ipv4.conf.default.rp_filter=0',
  'net.ipv4.conf.all.send_redirects=0',
  'net.ipv4.conf.default.send_redirects=0',
  'net.ipv4.conf.all.accept_redirects=0',
  'net.ipv4.conf.default.accept_redirects=0',
  'net.ipv4.conf.all.ignore_routes_with_linkdown=1',
  'net.ipv4.conf.default.ignore_routes_with_linkdown=1',
  'net.ipv6.conf.all.ignore_routes_with_linkdown=1',
  'net.ipv6.conf.default.ignore_routes_with_linkdown=1',
  'net.ipv6.conf.all.accept_dad=0',
  'net.ipv6.conf.default.accept_dad=0',
  'net.ipv6.conf.default.accept_redirects=0',
];

/** Policy 1 hashes by ports too, so that requests of one client to one address use every path. */
const forwardingSettings: readonly string[] = [
  'net.ipv4.ip_forward=1',
  'net.ipv6.conf.all.forwarding=1',
  'net.ipv6.conf.default.forwarding=1',
  'net.ipv4.fib_multipath_hash_policy=1',
  'net.ipv6.fib_multipath_hash_policy=1',
];

/**
 * Policy 1 uses the hash that the sender's socket gave the packet. Two routers in a row then choose alike, and the second uses only some of
 * its paths. Policy 3 computes its own hash over addresses, protocol and ports (0x37).
 */
const ownHashSettings: readonly string[] = ['ipv4', 'ipv6'].flatMap((family) => [
  `net.${family}.fib_multipath_hash_fields=55`,
  `net.${family}.fib_multipath_hash_policy=3`,
]);

export async function prepareNamespace(namespace: string, forwards: boolean, ownHash = false): Promise<void> {
  await run(inNamespace(namespace, ['sysctl', '-q', '-w', ...namespaceSettings(forwards, ownHash)]));
  await ip(['link set lo up'], namespace);
}

/** Returns `NAME=VALUE` settings for sysctl. */
function namespaceSettings(forwards: boolean, ownHash = false): readonly string[] {
  return [...hostSettings, ...(forwards ? forwardingSettings : []), ...(ownHash ? ownHashSettings : [])];
}
