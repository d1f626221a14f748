import { writeFileSync } from 'node:fs';
import { run as runCommand } from '../lab/command.ts';
import { until } from '../lab/until.ts';
import {
  asnOf,
  familyOf,
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
import { inNamespaceOf, type Root } from './root.ts';

export function gobgp(root: Root): DaemonKind {
  return {
    name: `GoBGP ${/[\d.]+/.exec(run('gobgpd', '--version'))?.[0] ?? 'of unknown version'}`,
    lacks: {
      'route refresh': 'its softresetin evaluates stored routes and sends no ROUTE-REFRESH',
      'no 4-octet AS numbers': 'GoBGP always sends the capability',
      unnumbered: 'GoBGP reads the address of its neighbour from the kernel neighbour table only once, at its start',
    },
    usesKernel: false,
    start: (link, options) => started(new Gobgp(root, link, options)),
  };
}

interface GobgpNeighbor {
  readonly state?: {
    readonly session_state?: number;
    readonly messages?: { readonly received?: { readonly update?: number } };
  };
  readonly afi_safis?: readonly {
    readonly state?: { readonly family?: { readonly afi?: number }; readonly received?: number };
  }[];
}

interface GobgpAttribute {
  readonly type: number;
  readonly value?: unknown;
  readonly nexthop?: string;
  readonly metric?: number;
  readonly as_paths?: readonly { readonly asns: readonly number[] }[];
  readonly communities?: readonly number[];
}

const establishedState = 6;

class Gobgp implements Daemon {
  readonly #root: Root;
  readonly #link: Link;
  readonly #options: DaemonOptions;
  readonly #programs: Programs;
  readonly #neighbor: string;

  constructor(root: Root, link: Link, options: DaemonOptions) {
    this.#root = root;
    this.#link = link;
    this.#options = options;
    this.#programs = new Programs(link, root);
    this.#neighbor = speakerAddress[options.family];
  }

  async start(): Promise<void> {
    writeFileSync(this.#programs.path('gobgpd.toml'), this.#configuration());
    const configuration = `${this.#programs.directory}/gobgpd.toml`;
    const { running } = this.#programs.start('gobgpd', ['gobgpd', '-f', configuration, '--log-plain', '-l', 'info']);
    await until('GoBGP has its neighbor', async () => {
      if (!running()) throw new Error(this.#programs.log('gobgpd'));
      return (await this.#status()).state;
    });
    for (const prefix of this.#options.announces ?? []) await this.#gobgp('global', 'rib', 'add', '-a', `ipv${familyOf(prefix)}`, prefix);
  }

  async established(): Promise<boolean> {
    return (await this.#status()).state?.session_state === establishedState;
  }

  async paths(family: Family): Promise<ReadonlyMap<string, readonly Path[]>> {
    const text = await this.#gobgp('-j', 'global', 'rib', '-a', `ipv${family}`);
    const table = JSON.parse(text || '{}') as Record<string, { attrs: GobgpAttribute[] }[]>;
    const pathIds = await this.#pathIds(family);
    return new Map(
      Object.entries(table).map(([prefix, paths]) => [
        prefix,
        paths.map(({ attrs }) => {
          const path = pathOf(attrs);
          return { ...path, pathId: pathIds.get(`${prefix} ${path.nextHop} ${path.med}`) };
        }),
      ]),
    );
  }

  /** Returns the path identifiers by prefix, next hop and MED. GoBGP shows them in its text only, which has no other key of a path. */
  async #pathIds(family: Family): Promise<ReadonlyMap<string, number>> {
    if (this.#options.severalPaths !== true) return new Map();
    const text = await this.#gobgp('neighbor', this.#neighbor, 'adj-in', '-a', `ipv${family}`);
    const rows = text.matchAll(/^ *(\d+) +(\S+\/\d+) +(\S+) .*\{Med: (\d+)\}/gm);
    return new Map([...rows].map(([, id, prefix, nextHop, med]) => [`${prefix} ${nextHop} ${med}`, Number(id)]));
  }

  async count(family: Family): Promise<number> {
    const states = (await this.#status()).afi_safis?.map(({ state }) => state) ?? [];
    return states.find((state) => state?.family?.afi === (family === 4 ? 1 : 2))?.received ?? 0;
  }

  async withdraw(prefix: string): Promise<void> {
    await this.#gobgp('global', 'rib', 'del', '-a', `ipv${familyOf(prefix)}`, prefix);
  }

  requestRefresh(): Promise<void> {
    throw new Error('GoBGP does not ask for routes again');
  }

  async updatesReceived(): Promise<number> {
    return (await this.#status()).state?.messages?.received?.update ?? 0;
  }

  /** Uses an Administrative Reset, because GoBGP's shutdown usually closes the connection before the NOTIFICATION is sent. */
  async shutDown(text: string): Promise<void> {
    await this.#gobgp('neighbor', this.#neighbor, 'reset', '--reason', text);
  }

  async bringUp(): Promise<void> {
    // Restarts GoBGP: after a reset it refuses us for 30 seconds, whatever its configuration says.
    await this.kill();
    await this.start();
  }

  async lastError(): Promise<string> {
    return this.#programs.log('gobgpd');
  }

  stop(): Promise<void> {
    return this.#programs.end('SIGTERM');
  }

  kill(): Promise<void> {
    return this.#programs.end('SIGKILL');
  }

  #configuration(): string {
    const { family, password, dials, ttlSecurity, restarts, gracefulRestart = restarts, severalPaths } = this.#options;
    const families = ([4, 6] as const).map(
      (family) => `
[[neighbors.afi-safis]]
[neighbors.afi-safis.config]
afi-safi-name = "ipv${family}-unicast"
${gracefulRestart === true ? '[neighbors.afi-safis.mp-graceful-restart.config]\nenabled = true' : ''}`,
    );
    return `
[global.config]
as = ${asnOf(this.#options)}
router-id = "${routerAddress[4]}"
[[neighbors]]
[neighbors.config]
neighbor-address = "${this.#neighbor}"
peer-as = ${speakerAsnOf(this.#options)}
${password === undefined ? '' : `auth-password = "${password}"`}
[neighbors.transport.config]
local-address = "${routerAddress[family]}"
passive-mode = ${dials !== true}
${ttlSecurity === true ? '[neighbors.ttl-security.config]\nenabled = true\nttl-min = 255' : ''}
${gracefulRestart === true ? '[neighbors.graceful-restart.config]\nenabled = true\nrestart-time = 60\nnotification-enabled = true' : ''}
${severalPaths === true ? '[neighbors.add-paths.config]\nreceive = true' : ''}
[neighbors.timers.config]
hold-time = 30
connect-retry = 1
${families.join('\n')}
`;
  }

  async #status(): Promise<GobgpNeighbor> {
    return JSON.parse(await this.#gobgp('-j', 'neighbor', this.#neighbor)) as GobgpNeighbor;
  }

  async #gobgp(...words: readonly string[]): Promise<string> {
    const { stdout } = await runCommand(inNamespaceOf(this.#root, this.#link.router, ['gobgp', ...words]));
    return stdout;
  }
}

function pathOf(attributes: readonly GobgpAttribute[]): Path {
  const attribute = (type: number): GobgpAttribute | undefined => attributes.find((one) => one.type === type);
  const localPref = attribute(5)?.value;
  const large = (attribute(32)?.value ?? []) as { ASN: number; LocalData1: number; LocalData2: number }[];
  return {
    pathId: undefined,
    nextHop: attribute(3)?.nexthop ?? attribute(14)?.nexthop ?? '',
    asPath:
      attribute(2)
        ?.as_paths?.flatMap(({ asns }) => asns)
        .join(' ') ?? '',
    origin: (['IGP', 'EGP', 'incomplete'] as const)[Number(attribute(1)?.value ?? 2)] ?? 'incomplete',
    med: attribute(4)?.metric,
    localPref: typeof localPref === 'number' ? localPref : undefined,
    communities: (attribute(8)?.communities ?? []).map((value) => `${Math.floor(value / 65536)}:${value % 65536}`),
    largeCommunities: large.map(({ ASN, LocalData1, LocalData2 }) => `${ASN}:${LocalData1}:${LocalData2}`),
  };
}
