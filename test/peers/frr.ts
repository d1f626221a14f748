import { writeFileSync } from 'node:fs';
import { run as runCommand } from '../lab/command.ts';
import { askVty } from '../lab/vty.ts';
import { until } from '../lab/until.ts';
import {
  asnOf,
  Programs,
  speakerAsnOf,
  started,
  type Daemon,
  type DaemonKind,
  type DaemonOptions,
  type Family,
  type Path,
} from './daemon.ts';
import { routerAddress, run, speakerAddress, type Link } from './link.ts';
import { inRoot, type Root } from './root.ts';

export function frr(root: Root): DaemonKind {
  return {
    name: `FRR ${version(root)}`,
    lacks: { 'no 4-octet AS numbers': 'it has them always, or no capabilities at all' },
    usesKernel: true,
    takesManyPrefixes: true,
    start: (link, options) => started(new Frr(root, link, options)),
  };
}

function version(root: Root): string {
  const [command = '', ...args] = inRoot(root, ['/usr/lib/frr/bgpd', '--version']);
  return /version ([\d.]+)/.exec(run(command, ...args))?.[1] ?? 'of unknown version';
}

interface FrrPath {
  readonly origin: string;
  readonly metric?: number;
  readonly locPrf?: number;
  readonly aspath?: { readonly string: string };
  readonly community?: { readonly list: readonly string[] };
  readonly largeCommunity?: { readonly list: readonly string[] };
  readonly nexthops?: readonly { readonly ip: string }[];
  readonly peer?: { readonly peerId: string };
}

class Frr implements Daemon {
  readonly #root: Root;
  readonly #link: Link;
  readonly #options: DaemonOptions;
  readonly #programs: Programs;
  readonly #neighbor: string;
  readonly #run: string;
  readonly #etc: string;

  constructor(root: Root, link: Link, options: DaemonOptions) {
    this.#root = root;
    this.#link = link;
    this.#options = options;
    this.#programs = new Programs(link, root);
    this.#neighbor = options.unnumbered === true ? 'v0' : speakerAddress[options.family];
    // The "pathspace" of FRR's option -N.
    this.#run = `/run/frr/${link.name}`;
    this.#etc = `/etc/frr/${link.name}`;
  }

  async start(): Promise<void> {
    await this.#exec('install', '-d', '-o', 'frr', '-g', 'frrvty', '-m', '0775', this.#run);
    await this.#exec('install', '-d', '-o', 'frr', '-g', 'frr', this.#etc);
    writeFileSync(`${this.#root.path}${this.#etc}/frr.conf`, this.#configuration());
    writeFileSync(`${this.#root.path}${this.#etc}/vtysh.conf`, '');
    await this.#exec('chown', '-R', 'frr:frr', this.#etc);
    // 10 wants mgmtd before the others; without zebra its bgpd closes every session.
    if (this.#has('mgmtd')) await this.#launch('mgmtd', []);
    await this.#launch('zebra', []);
    await this.#launch('bgpd', this.#options.kernel === true ? [] : ['-n']);
    await this.#exec('vtysh', '-N', this.#link.name, '-b');
  }

  async established(): Promise<boolean> {
    return (await this.#neighborStatus())['bgpState'] === 'Established';
  }

  async routes(family: Family): Promise<ReadonlyMap<string, Path>> {
    const { routes = {} } = (await this.#show(`show bgp ipv${family} unicast json detail`)) as { routes?: Record<string, unknown> };
    const found = new Map<string, Path>();
    for (const [prefix, entry] of Object.entries(routes)) {
      // 8 puts what concerns the prefix into the first element, and the paths after it.
      const paths = Array.isArray(entry) ? (entry as FrrPath[]) : (entry as { paths: FrrPath[] }).paths;
      const path = paths.find((one) => one.nexthops !== undefined);
      if (path !== undefined) found.set(prefix, pathOf(path));
    }
    return found;
  }

  async count(family: Family): Promise<number> {
    const { peers = {} } = (await this.#show(`show bgp ipv${family} unicast summary json`)) as {
      peers?: Record<string, { pfxRcd?: number }>;
    };
    return peers[this.#neighbor]?.pfxRcd ?? 0;
  }

  async requestRefresh(): Promise<void> {
    for (const family of [4, 6]) await this.#vtysh(`clear bgp ipv${family} unicast ${this.#neighbor} in`);
  }

  async updatesReceived(): Promise<number> {
    const { messageStats } = (await this.#neighborStatus()) as { messageStats?: { updatesRecv?: number } };
    return messageStats?.updatesRecv ?? 0;
  }

  async shutDown(text: string): Promise<void> {
    await this.#vtysh('configure terminal', `router bgp ${this.#asn}`, `neighbor ${this.#neighbor} shutdown message ${text}`);
  }

  async bringUp(): Promise<void> {
    await this.#vtysh('configure terminal', `router bgp ${this.#asn}`, `no neighbor ${this.#neighbor} shutdown`);
  }

  async lastError(): Promise<string> {
    return `${JSON.stringify(await this.#neighborStatus())}\n${this.#programs.log('bgpd')}`;
  }

  stop(): Promise<void> {
    return this.#programs.end('SIGTERM');
  }

  kill(): Promise<void> {
    return this.#programs.end('SIGKILL');
  }

  #configuration(): string {
    const { password, dials, ttlSecurity, announces = [], unnumbered } = this.#options;
    const neighbor = this.#neighbor;
    const remote = `remote-as ${unnumbered === true ? 'external' : speakerAsnOf(this.#options)}`;
    const families = ([4, 6] as const).map(
      (family) => ` address-family ipv${family} unicast
  neighbor ${neighbor} activate
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
 no bgp ebgp-requires-policy
 no bgp default ipv4-unicast
 bgp log-neighbor-changes
 timers bgp 3 9
 no bgp network import-check
 neighbor ${neighbor} ${unnumbered === true ? `interface ${remote}` : remote}
 neighbor ${neighbor} timers connect 1
 ${dials === true || unnumbered === true ? '!' : `neighbor ${neighbor} passive`}
 ${ttlSecurity === true ? `neighbor ${neighbor} ttl-security hops 1` : '!'}
 neighbor ${neighbor} capability extended-nexthop
 ${password === undefined ? '!' : `neighbor ${neighbor} password ${password}`}
${families.join('\n')}
 address-family ipv${this.#options.family} unicast
${announces.map((prefix) => `  network ${prefix}`).join('\n')}
`;
  }

  async #launch(daemon: string, more: readonly string[]): Promise<void> {
    const { name } = this.#link;
    const argv = [`/usr/lib/frr/${daemon}`, '-N', name, '-A', '127.0.0.1', '--log', 'stdout', ...more];
    const { running } = this.#programs.start(daemon, argv);
    await until(`${daemon} listens`, async () => {
      if (!running()) throw new Error(this.#programs.log(daemon));
      return askVty(this.#vty(daemon), 'show version');
    });
  }

  get #asn(): number {
    return asnOf(this.#options);
  }

  #vty(daemon: string): string {
    return `${this.#root.path}${this.#run}/${daemon}.vty`;
  }

  #has(daemon: string): boolean {
    return run('sh', '-c', `test -x "${this.#root.path}/usr/lib/frr/${daemon}" && echo yes || echo no`).trim() === 'yes';
  }

  async #show(command: string): Promise<Record<string, unknown>> {
    return JSON.parse(await askVty(this.#vty('bgpd'), command)) as Record<string, unknown>;
  }

  async #neighborStatus(): Promise<Record<string, unknown>> {
    const neighbors = (await this.#show(`show bgp neighbors ${this.#neighbor} json`)) as Record<string, Record<string, unknown>>;
    return neighbors[this.#neighbor] ?? {};
  }

  async #vtysh(...commands: readonly string[]): Promise<void> {
    await this.#exec('vtysh', '-N', this.#link.name, ...commands.flatMap((command) => ['-c', command]));
  }

  async #exec(...argv: readonly string[]): Promise<void> {
    await runCommand(inRoot(this.#root, argv));
  }
}

function pathOf({ origin, metric, locPrf, aspath, community, largeCommunity, nexthops }: FrrPath): Path {
  return {
    nextHop: nexthops?.[0]?.ip ?? '',
    // Of an empty one it says "Local".
    asPath: aspath?.string.replace('Local', '') ?? '',
    origin: origin === 'IGP' || origin === 'EGP' ? origin : 'incomplete',
    med: metric,
    localPref: locPrf,
    communities: community?.list ?? [],
    largeCommunities: largeCommunity?.list ?? [],
  };
}
