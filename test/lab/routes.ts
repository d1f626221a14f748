import type { Lab } from './lab.ts';

/** The part of `show bgp neighbors json` that tests use. */
interface Neighbor {
  readonly bgpState: string;
}

/** Counts a router's Established neighbours with addresses of this family. */
export async function establishedSessions(lab: Lab, router: string, family: 4 | 6): Promise<number> {
  const neighbors = await lab.router(router).show<Readonly<Record<string, Neighbor>>>('show bgp neighbors json');
  return Object.entries(neighbors).filter(
    ([address, { bgpState }]) => address.includes(':') === (family === 6) && bgpState === 'Established',
  ).length;
}

/** Returns the next hops of the kernel's route to exactly this address, sorted. Empty if there is no route. */
export async function nextHops(lab: Lab, machine: string, address: string): Promise<string[]> {
  const routes = await lab.machine(machine).kernelRoutes(address.includes(':') ? 6 : 4);
  const prefixes = new Set([address, `${address}/32`, `${address}/128`]);
  const matching = routes.filter(({ dst }) => prefixes.has(dst));
  const gateways = matching.flatMap(({ gateway, nexthops }) => (nexthops ?? [{ gateway }]).map((hop) => hop.gateway));
  return gateways.filter((gateway) => gateway !== undefined).toSorted();
}

/** Waits until the router's kernel sends the address to exactly these next hops. */
export async function untilNextHops(
  lab: Lab,
  machine: string,
  address: string,
  wanted: readonly string[],
  timeoutMs = 90_000,
): Promise<void> {
  const sorted = [...wanted].toSorted();
  await lab.until(
    `${machine} routes ${address} to ${sorted.join(', ') || 'no next hop'}`,
    async (note) => note(await nextHops(lab, machine, address)).join() === sorted.join(),
    timeoutMs,
  );
}

/** Waits until the spine has a path over both ToRs. */
export async function untilSpineRoutes(lab: Lab, address: string): Promise<void> {
  await lab.until(`the spine routes ${address} to both ToRs`, async (note) => note(await nextHops(lab, 'spine', address)).length === 2);
}

/** Returns the nodes' addresses on the network that they share with a ToR, in the family of `like`. */
export function viaNodes(tor: string, nodes: readonly string[], like: string): string[] {
  const network = tor.slice(-1);
  return nodes.map((node) => (like.includes(':') ? `fd00:${network}::1${node.slice(-1)}` : `10.${network}.0.1${node.slice(-1)}`));
}

export interface SeenPath {
  readonly asPath: string;
  readonly origin: string;
  readonly communities: string;
  /** The number of paths that the router has, and the number of them that it uses together. */
  readonly paths: number;
  readonly multipath: number;
}

interface FrrPath {
  readonly aspath: { readonly string: string };
  readonly origin: string;
  readonly community?: { readonly string: string };
  readonly locPrf?: number;
  readonly lastUpdate?: { readonly epoch: number };
  readonly nexthops?: readonly { readonly ip: string }[];
  readonly multipath?: boolean;
  readonly bestpath?: { readonly overall?: boolean };
}

/** Returns FRR's best path to a host route, or undefined if it has none. */
export async function bestPath(lab: Lab, router: string, address: string): Promise<SeenPath | undefined> {
  const [family, length] = address.includes(':') ? ['ipv6', 128] : ['ipv4', 32];
  const { paths = [] } = await lab
    .router(router)
    .show<{ paths?: readonly FrrPath[] }>(`show bgp ${family} unicast ${address}/${length} json`);
  const best = paths.find(({ bestpath }) => bestpath?.overall === true);
  if (best === undefined) return undefined;
  return {
    asPath: best.aspath.string,
    origin: best.origin,
    communities: best.community?.string ?? '',
    paths: paths.length,
    multipath: paths.filter(({ multipath }) => multipath === true).length,
  };
}

/**
 * Returns FRR's path to a host route from one of its nodes, by `viaNodes`, or undefined if it has none. `updated` is its last update in
 * milliseconds since the epoch, with a resolution of seconds.
 */
export async function pathFrom(
  lab: Lab,
  router: string,
  node: string,
  address: string,
): Promise<{ readonly community: string; readonly localPref: number | undefined; readonly updated: number } | undefined> {
  const [family, length] = address.includes(':') ? ['ipv6', 128] : ['ipv4', 32];
  const { paths = [] } = await lab
    .router(router)
    .show<{ paths?: readonly FrrPath[] }>(`show bgp ${family} unicast ${address}/${length} json`);
  const [via] = viaNodes(router, [node], address);
  const path = paths.find(({ nexthops }) => nexthops?.some(({ ip }) => ip === via));
  if (path === undefined) return undefined;
  return { community: path.community?.string ?? '', localPref: path.locPrf, updated: 1000 * (path.lastUpdate?.epoch ?? Number.NaN) };
}
