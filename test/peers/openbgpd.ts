import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { CommandError, run as runCommand } from '../lab/command.ts';
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

export function openbgpd(root: Root): DaemonKind {
  return {
    name: `OpenBGPD ${/[\d.]+/.exec(run('sh', '-c', '/usr/sbin/bgpd -V 2>&1'))?.[0] ?? 'of unknown version'}`,
    lacks: {
      'routes of the other family': 'this version does not implement RFC 8950',
      'retained routes': 'OpenBGPD retains routes of its peers and does not ask them to retain its own',
      'extended next hop': 'this version does not implement RFC 8950',
      unnumbered: 'this version does not implement RFC 8950',
      'graceful restart after NOTIFICATION': 'this version does not implement RFC 8538',
    },
    usesKernel: false,
    start: (link, options) => started(new Openbgpd(root, link, options)),
  };
}

interface OpenbgpdNeighbor {
  readonly state: string;
  readonly stats?: { readonly update?: { readonly received?: { readonly updates?: number } } };
}

interface OpenbgpdRoute {
  readonly prefix: string;
  readonly path_id?: number;
  readonly aspath: string;
  readonly exit_nexthop: string;
  readonly origin: string;
  readonly metric: number;
  readonly localpref: number;
  readonly communities?: readonly string[];
  readonly large_communities?: readonly string[];
}

class Openbgpd implements Daemon {
  readonly #root: Root;
  readonly #options: DaemonOptions;
  readonly #programs: Programs;
  readonly #neighbor: string;
  #isRunning: () => boolean = () => false;

  constructor(root: Root, link: Link, options: DaemonOptions) {
    this.#root = root;
    this.#options = options;
    this.#programs = new Programs(link, root);
    this.#neighbor = speakerAddress[options.family];
  }

  async start(): Promise<void> {
    // The chroot directory of its unprivileged processes, which Debian's service creates at start.
    mkdirSync(`${this.#root.path}/run/openbgpd`, { recursive: true, mode: 0o755 });
    const file = this.#programs.path('bgpd.conf');
    writeFileSync(file, this.#configuration());
    chmodSync(file, 0o600);
    const { running } = this.#programs.start('bgpd', ['/usr/sbin/bgpd', '-d', '-v', '-f', `${this.#programs.directory}/bgpd.conf`]);
    this.#isRunning = running;
    await until('OpenBGPD has its neighbor', async () => {
      if (!running()) throw new Error(this.#programs.log('bgpd'));
      return !['None', 'Idle'].includes((await this.#status())?.state ?? 'None');
    });
  }

  async established(): Promise<boolean> {
    return (await this.#status())?.state === 'Established';
  }

  async paths(family: Family): Promise<ReadonlyMap<string, readonly Path[]>> {
    const text = await this.#bgpctl('-j', 'show', 'rib', `ipv${family}`, 'detail', 'neighbor', this.#neighbor);
    const { rib = [] } = JSON.parse(text) as { rib?: OpenbgpdRoute[] };
    const routes = Map.groupBy(rib, ({ prefix }) => prefix);
    return new Map([...routes].map(([prefix, paths]) => [prefix, paths.map(pathOf)]));
  }

  async count(family: Family): Promise<number> {
    return (await this.paths(family)).size;
  }

  async withdraw(prefix: string): Promise<void> {
    await this.#bgpctl('network', 'delete', prefix);
  }

  async requestRefresh(): Promise<void> {
    await this.#bgpctl('neighbor', this.#neighbor, 'refresh');
  }

  async updatesReceived(): Promise<number> {
    return (await this.#status())?.stats?.update?.received?.updates ?? 0;
  }

  async shutDown(text: string): Promise<void> {
    await this.#bgpctl('neighbor', this.#neighbor, 'down', text);
  }

  async bringUp(): Promise<void> {
    await this.#bgpctl('neighbor', this.#neighbor, 'up');
  }

  async lastError(): Promise<string> {
    return JSON.stringify(await this.#status());
  }

  stop(): Promise<void> {
    return this.#programs.end('SIGTERM');
  }

  /** One process is enough: its processes watch each other and end together. */
  kill(): Promise<void> {
    return this.#programs.end('SIGKILL');
  }

  #configuration(): string {
    const { family, password, dials, ttlSecurity, announces = [], fourOctetAsn, severalPaths } = this.#options;
    return `
AS ${asnOf(this.#options)}
router-id ${routerAddress[4]}
listen on ${routerAddress[family]}
socket "${this.#programs.directory}/bgpd.sock"
fib-update no
holdtime 30
${announces.map((prefix) => `network ${prefix}`).join('\n')}
neighbor ${this.#neighbor} {
  remote-as ${speakerAsnOf(this.#options)}
  ${dials === true ? '' : 'passive'}
  ${ttlSecurity === true ? 'ttl-security yes' : ''}
  ${fourOctetAsn === false ? 'announce as-4byte no' : ''}
  ${severalPaths === true ? 'announce add-path recv yes' : ''}
  announce IPv4 unicast
  announce IPv6 unicast
  ${password === undefined ? '' : `tcp md5sig password "${password}"`}
}
allow from any
allow to any
`;
  }

  async #status(): Promise<OpenbgpdNeighbor | undefined> {
    const text = await this.#bgpctl('-j', 'show', 'neighbor', this.#neighbor);
    return (JSON.parse(text) as { neighbors?: OpenbgpdNeighbor[] }).neighbors?.[0];
  }

  async #bgpctl(...words: readonly string[]): Promise<string> {
    const command = inRoot(this.#root, ['bgpctl', '-s', `${this.#programs.directory}/bgpd.sock`, ...words]);
    // A busy daemon may refuse its control program. One that has ended does so for good.
    const result = await until(`bgpctl ${words.join(' ')} has an answer`, async (note) => {
      const once = note(await runCommand(command, { check: false }));
      return once.code === 0 || !this.#isRunning() ? once : undefined;
    });
    if (result.code !== 0) throw new CommandError(command, result);
    return result.stdout;
  }
}

function pathOf(route: OpenbgpdRoute): Path {
  return {
    pathId: route.path_id,
    nextHop: route.exit_nexthop,
    asPath: route.aspath,
    origin: route.origin === 'IGP' || route.origin === 'EGP' ? route.origin : 'incomplete',
    // It shows 0 for a missing metric.
    med: route.metric === 0 ? undefined : route.metric,
    localPref: route.localpref,
    communities: [...(route.communities ?? [])].sort(),
    largeCommunities: route.large_communities ?? [],
  };
}
