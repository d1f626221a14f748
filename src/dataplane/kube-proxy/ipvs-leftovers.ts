import { tableName } from '../ruleset/layout.ts';
import type { Leftover, RunCommand, Search } from './leftover.ts';
import { limits } from './limits.ts';

const families = ['ip', 'ip6'] as const;
const link = 'kube-ipvs0';
/** Names of kube-proxy's ipsets, of both families. */
const ipset =
  /^KUBE-(?:6-)?(?:LOOP-BACK|CLUSTER-IP|EXTERNAL-IP(?:-LOCAL)?|LOAD-BALANCER(?:-FW|-LOCAL|-SOURCE-IP|-SOURCE-CIDR)?|NODE-PORT-(?:LOCAL-)?(?:TCP|UDP|SCTP-HASH)|HEALTH-CHECK-NODE-PORT|IPVS-IPS)$/;

/** A virtual server, in the words of ipvsadm. */
interface VirtualServer {
  readonly kind: string;
  readonly address: string;
  readonly protocol: string;
  readonly port: string;
  /** "10.96.0.1:443", "[fd96::1]:53". */
  readonly place: string;
}

const protocols: Readonly<Record<string, string>> = { '-t': 'tcp', '-u': 'udp', '--sctp-service': 'sctp' };

/** Finds what kube-proxy's ipvs mode left. The link comes after its virtual servers, and stays while they cannot be listed. */
export async function searchIpvs(run: RunCommand): Promise<Search> {
  const names = (await run(['ipset', 'list', '-n']))?.stdout.split('\n') ?? [];
  const sets = names
    .filter((name) => ipset.test(name))
    .map((name): Leftover => ({ what: `ipset ${name}`, remove: ['ipset', 'destroy', name] }));
  const shown = await run(['ip', '-o', 'address', 'show', 'dev', link]);
  const isThere = shown?.status === 0;
  const rules = await run(['ipvsadm', '--save', '-n']);
  if (rules === undefined && (await mayHaveServers(run, isThere)))
    return { found: sets, kept: [], unknown: [`virtual servers of IPVS${isThere ? `, and ${link}` : ''}: ipvsadm is not installed`] };
  const servers = serversIn(rules?.stdout ?? '');
  const evidence = servers.length === 0 ? undefined : await readEvidence(run, isThere ? addressesIn(shown.stdout) : new Set());
  const [ours, others] = [servers.filter((one) => evidence?.(one) === true), servers.filter((one) => evidence?.(one) !== true)];
  return {
    found: [
      ...sets,
      ...ours.map(({ kind, place }): Leftover => ({ what: `virtual server ${place}`, remove: ['ipvsadm', '-D', kind, place] })),
      ...(isThere ? [{ what: `link ${link}`, remove: ['ip', 'link', 'delete', link] as const }] : []),
    ],
    kept: keptText(others),
    unknown: [],
  };
}

/** Without ipvsadm the kernel still says whether it has virtual servers. Where grep is missing too, only the link tells. */
async function mayHaveServers(run: RunCommand, isThere: boolean): Promise<boolean> {
  const listed = await run(['grep', '-qE', '^(TCP|UDP|SCTP) ', '/proc/net/ip_vs']);
  return listed === undefined ? isThere : listed.status === 0;
}

function serversIn(saved: string): VirtualServer[] {
  return [...saved.matchAll(/^-A (-[tu]|--sctp-service) \[?([0-9a-f.:]+?)\]?:(\d+) /gm)].map(
    ([, kind = '', address = '', port = '']): VirtualServer => ({
      kind,
      address,
      protocol: protocols[kind] ?? '',
      port,
      place: address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`,
    }),
  );
}

const addressesIn = (shown: string): Set<string> =>
  new Set([...shown.matchAll(/ inet6? ([0-9a-f.:]+)/g)].map(([, address = '']) => address));

/**
 * Returns a test for kube-proxy's virtual servers: their address is on its link, or Herald forwards the same address and port, or the same
 * NodePort at an address of this node. Other programs (keepalived) have virtual servers too.
 */
async function readEvidence(run: RunCommand, onLink: ReadonlySet<string>): Promise<(server: VirtualServer) => boolean> {
  const all = await run(['ip', '-o', 'address', 'show']);
  const own = addressesIn(all?.stdout ?? '');
  const [frontends, nodePorts] = [new Set<string>(), new Set<string>()];
  for (const family of families) {
    for (const map of ['frontends', 'turns', 'without_backends'])
      for (const key of await keysOf(run, family, map, /([0-9a-f.:]+) \. (tcp|udp|sctp) \. (\d+)/g)) frontends.add(key);
    for (const map of ['nodeports', 'nodeport_turns', 'nodeports_without_backends'])
      for (const key of await keysOf(run, family, map, /(tcp|udp|sctp) \. (\d+)/g)) nodePorts.add(key);
  }
  return ({ address, protocol, port }) =>
    onLink.has(address) || frontends.has(`${address} ${protocol} ${port}`) || (own.has(address) && nodePorts.has(`${protocol} ${port}`));
}

async function keysOf(run: RunCommand, family: string, map: string, key: RegExp): Promise<string[]> {
  const listed = await run(['nft', 'list', 'map', family, tableName, map]);
  return [...(listed?.stdout ?? '').matchAll(key)].map(([, ...parts]) => parts.join(' '));
}

function keptText(others: readonly VirtualServer[]): string[] {
  if (others.length === 0) return [];
  const named = others.slice(0, limits.namedServers).map(({ place }) => place);
  const more = others.length > named.length ? ` and ${others.length - named.length} more` : '';
  const what = others.length === 1 ? 'virtual server' : `${others.length} virtual servers`;
  return [
    `${what} ${named.join(', ')}${more}: Herald forwards no such address, so another program may use ${others.length === 1 ? 'it' : 'them'}; if none does, run: ipvsadm --clear`,
  ];
}
