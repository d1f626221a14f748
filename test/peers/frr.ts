import {
  asnOf,
  familyOf,
  speakerAsnOf,
  started,
  type Daemon,
  type DaemonKind,
  type DaemonOptions,
  type Family,
  type Path,
} from './daemon.ts';
import { FrrDaemons, frrVersion } from './frr-daemons.ts';
import { routerAddress, speakerAddress, type Link } from './link.ts';
import type { Root } from './root.ts';

export function frr(root: Root): DaemonKind {
  return {
    name: `FRR ${frrVersion(root)}`,
    lacks: { 'no 4-octet AS numbers': 'FRR always sends the capability, unless it sends no capabilities at all' },
    usesKernel: true,
    takesManyPrefixes: true,
    start: (link, options) => started(new Frr(root, link, options)),
  };
}

interface FrrPath {
  readonly origin: string;
  readonly metric?: number;
  readonly locPrf?: number;
  readonly aspath?: { readonly string: string };
  readonly community?: { readonly list: readonly string[] };
  readonly largeCommunity?: { readonly list: readonly string[] };
  readonly addpathRxId?: number;
  readonly nexthops?: readonly { readonly ip: string }[];
  readonly peer?: { readonly peerId: string };
}

class Frr implements Daemon {
  readonly #options: DaemonOptions;
  readonly #daemons: FrrDaemons;
  readonly #neighbor: string;

  constructor(root: Root, link: Link, options: DaemonOptions) {
    this.#options = options;
    this.#daemons = new FrrDaemons(root, link);
    this.#neighbor = options.unnumbered === true ? 'v0' : speakerAddress[options.family];
  }

  start(): Promise<void> {
    return this.#daemons.start(this.#configuration(), { bgpd: this.#options.kernel === true ? [] : ['-n'] });
  }

  async established(): Promise<boolean> {
    return (await this.#neighborStatus())['bgpState'] === 'Established';
  }

  async paths(family: Family): Promise<ReadonlyMap<string, readonly Path[]>> {
    const { routes = {} } = (await this.#show(`show bgp ipv${family} unicast json detail`)) as { routes?: Record<string, unknown> };
    const found = new Map<string, readonly Path[]>();
    for (const [prefix, entry] of Object.entries(routes)) {
      // FRR 8 puts the data of the prefix into the first element and the paths after it.
      const elements = Array.isArray(entry) ? (entry as FrrPath[]) : (entry as { paths: FrrPath[] }).paths;
      const paths = elements.filter(({ nexthops }) => nexthops !== undefined);
      if (paths.length > 0) found.set(prefix, paths.map(pathOf));
    }
    return found;
  }

  async count(family: Family): Promise<number> {
    const { peers = {} } = (await this.#show(`show bgp ipv${family} unicast summary json`)) as {
      peers?: Record<string, { pfxRcd?: number }>;
    };
    return peers[this.#neighbor]?.pfxRcd ?? 0;
  }

  async withdraw(prefix: string): Promise<void> {
    const family = `address-family ipv${familyOf(prefix)} unicast`;
    await this.#daemons.vtysh('configure terminal', `router bgp ${this.#asn}`, family, `no network ${prefix}`);
  }

  async requestRefresh(): Promise<void> {
    for (const family of [4, 6]) await this.#daemons.vtysh(`clear bgp ipv${family} unicast ${this.#neighbor} in`);
  }

  async updatesReceived(): Promise<number> {
    const { messageStats } = (await this.#neighborStatus()) as { messageStats?: { updatesRecv?: number } };
    return messageStats?.updatesRecv ?? 0;
  }

  async shutDown(text: string): Promise<void> {
    await this.#daemons.vtysh('configure terminal', `router bgp ${this.#asn}`, `neighbor ${this.#neighbor} shutdown message ${text}`);
  }

  async bringUp(): Promise<void> {
    await this.#daemons.vtysh('configure terminal', `router bgp ${this.#asn}`, `no neighbor ${this.#neighbor} shutdown`);
  }

  async lastError(): Promise<string> {
    return `${JSON.stringify(await this.#neighborStatus())}\n${this.#daemons.programs.log('bgpd')}`;
  }

  stop(): Promise<void> {
    return this.#daemons.programs.end('SIGTERM');
  }

  kill(): Promise<void> {
    return this.#daemons.programs.end('SIGKILL');
  }

  #configuration(): string {
    const { password, dials, ttlSecurity, announces = [], unnumbered, restarts, severalPaths } = this.#options;
    const neighbor = this.#neighbor;
    const remote = `remote-as ${unnumbered === true ? 'external' : speakerAsnOf(this.#options)}`;
    const families = ([4, 6] as const).map(
      (family) => ` address-family ipv${family} unicast
  neighbor ${neighbor} activate
  ${severalPaths === true ? '!' : `neighbor ${neighbor} disable-addpath-rx`}
${announces
  .filter((prefix) => familyOf(prefix) === family)
  .map((prefix) => `  network ${prefix}`)
  .join('\n')}
 exit-address-family`,
    );
    return `
frr defaults datacenter
log stdout informational
interface v0
 ${unnumbered === true ? 'no ipv6 nd suppress-ra' : '!'}
 ${unnumbered === true ? 'ipv6 nd ra-interval 1' : '!'}
router bgp ${this.#asn}
 bgp router-id ${routerAddress[4]}
 ${restarts === true ? 'bgp graceful-restart' : '!'}
 no bgp ebgp-requires-policy
 no bgp default ipv4-unicast
 bgp log-neighbor-changes
 timers bgp 10 30
 no bgp network import-check
 neighbor ${neighbor} ${unnumbered === true ? `interface ${remote}` : remote}
 neighbor ${neighbor} timers connect 1
 ${dials === true || unnumbered === true ? '!' : `neighbor ${neighbor} passive`}
 ${ttlSecurity === true ? `neighbor ${neighbor} ttl-security hops 1` : '!'}
 neighbor ${neighbor} capability extended-nexthop
 ${password === undefined ? '!' : `neighbor ${neighbor} password ${password}`}
${families.join('\n')}
`;
  }

  get #asn(): number {
    return asnOf(this.#options);
  }

  async #show(command: string): Promise<Record<string, unknown>> {
    return JSON.parse(await this.#daemons.ask('bgpd', command)) as Record<string, unknown>;
  }

  async #neighborStatus(): Promise<Record<string, unknown>> {
    const neighbors = (await this.#show(`show bgp neighbors ${this.#neighbor} json`)) as Record<string, Record<string, unknown>>;
    return neighbors[this.#neighbor] ?? {};
  }
}

function pathOf({ origin, metric, locPrf, aspath, community, largeCommunity, nexthops, addpathRxId }: FrrPath): Path {
  return {
    pathId: addpathRxId,
    nextHop: nexthops?.[0]?.ip ?? '',
    // FRR shows an empty path as "Local".
    asPath: aspath?.string.replace('Local', '') ?? '',
    origin: origin === 'IGP' || origin === 'EGP' ? origin : 'incomplete',
    med: metric,
    localPref: locPrf,
    communities: community?.list ?? [],
    largeCommunities: largeCommunity?.list ?? [],
  };
}
