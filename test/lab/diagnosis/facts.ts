import type { Scene } from './misconfiguration.ts';

/** What the routers and the kernels of the lab show, independently of Herald. */
export interface Facts {
  /** Returns the nodes to which the router sends packets for the address directly. */
  nextHops(router: string, address: string): Promise<readonly string[]>;
  /** Returns true if the rules of the node's kernel contain the address. */
  hasRules(node: string, address: string): boolean;
  /** Returns true if the router has an Established session with the neighbor address. */
  hasSession(router: string, neighbor: string): boolean;
}

/** Reads rules and sessions once. Routes are read when they are asked for. */
export async function observe({ lab, nodes }: Scene): Promise<Facts> {
  const rules = new Map<string, string>();
  for (const node of nodes) rules.set(node, (await lab.node(node).exec(['nft', 'list', 'ruleset'])).stdout);
  const sessions = new Map<string, Readonly<Record<string, { readonly bgpState: string }>>>();
  for (const router of ['tor1', 'tor2']) sessions.set(router, await lab.router(router).show('show bgp neighbors json'));
  return {
    async nextHops(router, address) {
      const [family, length] = address.includes(':') ? ['ipv6', 128] : ['ipv4', 32];
      const { paths = [] } = await lab
        .router(router)
        .show<{ paths?: readonly Path[] }>(`show bgp ${family} unicast ${address}/${length} json`);
      // A path with the AS of the spine leads over the other router.
      const direct = paths.filter(({ aspath }) => !aspath.string.includes('65000'));
      return [...new Set(direct.flatMap(({ nexthops }) => nexthops.map(({ ip }) => nodeOf(ip))))].toSorted();
    },
    hasRules: (node, address) => new RegExp(`(?<![0-9a-f.:])${address.replaceAll('.', '\\.')}(?![0-9a-f.:])`).test(rules.get(node) ?? ''),
    hasSession: (router, neighbor) => sessions.get(router)?.[neighbor]?.bgpState === 'Established',
  };
}

interface Path {
  readonly aspath: { readonly string: string };
  readonly nexthops: readonly { readonly ip: string }[];
}

/** The last group of every address of a node ends in its number. Addresses from .100 on belong to sessions of node3. */
function nodeOf(address: string): string {
  const last = address.split(/[.:]/).at(-1) ?? '';
  return last.length > 2 ? 'node3' : `node${last.slice(-1)}`;
}
