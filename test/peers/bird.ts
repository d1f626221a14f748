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
import { inRoot, type Root } from './root.ts';

export function bird(root: Root): DaemonKind {
  const version = birdVersion(root);
  return {
    name: `BIRD ${version}`,
    lacks: {
      unnumbered: 'BIRD needs the address of its neighbour',
      'graceful restart after NOTIFICATION': 'BIRD does not implement RFC 8538',
      ...(version.startsWith('2.') ? { 'path identifiers': 'BIRD 2 shows no identifiers' } : {}),
    },
    usesKernel: true,
    takesManyPrefixes: true,
    start: (link, options) => started(new Bird(root, link, options)),
  };
}

export function birdVersion(root: Root): string {
  const [command = '', ...args] = inRoot(root, ['sh', '-c', 'bird --version 2>&1']);
  return /version ([\d.]+)/.exec(run(command, ...args))?.[1] ?? 'of unknown version';
}

class Bird implements Daemon {
  readonly #root: Root;
  readonly #options: DaemonOptions;
  readonly #programs: Programs;
  readonly #newCommands: boolean;
  #announces: readonly string[];

  constructor(root: Root, link: Link, options: DaemonOptions) {
    this.#root = root;
    this.#options = options;
    this.#announces = options.announces ?? [];
    this.#programs = new Programs(link, root);
    this.#newCommands = Number.parseFloat(birdVersion(root)) >= 3.1;
  }

  async start(): Promise<void> {
    const { directory } = this.#programs;
    writeFileSync(this.#programs.path('bird.conf'), this.#configuration());
    const { running } = this.#programs.start('bird', ['bird', '-f', '-c', `${directory}/bird.conf`, '-s', `${directory}/bird.ctl`]);
    await until('BIRD answers', async () => {
      if (!running()) throw new Error(this.#programs.log('bird'));
      return this.#birdc('show', 'status');
    });
  }

  async established(): Promise<boolean> {
    return /BGP state: +Established/.test(await this.#birdc('show', 'protocols', 'all', 'herald'));
  }

  async paths(family: Family): Promise<ReadonlyMap<string, readonly Path[]>> {
    const text = await this.#birdc('show', 'route', 'all', 'protocol', 'herald', 'table', `master${family}`);
    const found = new Map<string, readonly Path[]>();
    // The first path of a prefix begins in the first column with the prefix. The others have blanks in its place.
    for (const block of text.split(/\n(?=[0-9a-f:.]+\/\d+ )/)) {
      const prefix = /^([0-9a-f:.]+\/\d+) /.exec(block)?.[1];
      if (prefix !== undefined) found.set(prefix, block.split(/\n(?= +\w+ \[herald )/).map(pathOf));
    }
    return found;
  }

  async count(family: Family): Promise<number> {
    const text = await this.#birdc('show', 'protocols', 'all', 'herald');
    const channel = text.slice(text.indexOf(`Channel ipv${family}`));
    return Number(/Routes: +(\d+) imported/.exec(channel)?.[1] ?? 0);
  }

  async withdraw(prefix: string): Promise<void> {
    this.#announces = this.#announces.filter((each) => each !== prefix);
    writeFileSync(this.#programs.path('bird.conf'), this.#configuration());
    await this.#birdc('configure');
  }

  async requestRefresh(): Promise<void> {
    // BIRD 3.1 has renamed the command.
    await this.#birdc('reload', ...(this.#newCommands ? ['bgp', 'in'] : ['in']), 'herald');
  }

  async updatesReceived(): Promise<number> {
    const text = await this.#birdc('show', 'protocols', 'all', 'herald');
    return [...text.matchAll(/Import updates: +(\d+)/g)].reduce((sum, [, count]) => sum + Number(count), 0);
  }

  async shutDown(text: string): Promise<void> {
    await this.#birdc(`disable herald "${text}"`);
  }

  async bringUp(): Promise<void> {
    await this.#birdc('enable', 'herald');
  }

  async lastError(): Promise<string> {
    return this.#birdc('show', 'protocols', 'all', 'herald');
  }

  stop(): Promise<void> {
    return this.#programs.end('SIGTERM');
  }

  kill(): Promise<void> {
    return this.#programs.end('SIGKILL');
  }

  #configuration(): string {
    const { family, password, dials, ttlSecurity, kernel, fourOctetAsn, restarts, severalPaths } = this.#options;
    const addPaths = severalPaths === true ? 'add paths rx;' : '';
    const statics = ([4, 6] as const).map((each) => {
      const routes = this.#announces.filter((prefix) => familyOf(prefix) === each).map((prefix) => `route ${prefix} blackhole;`);
      return `protocol static { ipv${each}; ${routes.join(' ')} }`;
    });
    return `
log stderr all;
router id ${routerAddress[4]};
protocol device { }
ipv4 table master4;
ipv6 table master6;
${kernel === true ? 'protocol kernel { ipv4 { export all; }; }\nprotocol kernel { ipv6 { export all; }; }' : ''}
${statics.join('\n')}
protocol bgp herald {
  local ${routerAddress[family]} as ${asnOf(this.#options)};
  neighbor ${speakerAddress[family]} ${fourOctetAsn === false ? 'external' : `as ${speakerAsnOf(this.#options)}`};
  ${dials === true ? 'connect delay time 1; connect retry time 1;' : 'passive on;'}
  ${ttlSecurity === true ? 'ttl security on;' : ''}
  hold time 30;
  ${fourOctetAsn === false ? 'enable as4 off;' : ''}
  ${restarts === true ? 'graceful restart on;' : ''}
  error wait time 1, 2;
  error forget time 1;
  ${password === undefined ? '' : `password "${password}";`}
  ipv4 { import all; export all; ${addPaths} ${family === 6 ? 'extended next hop on;' : ''} };
  ipv6 { import all; export all; ${addPaths} };
}
`;
  }

  async #birdc(...words: readonly string[]): Promise<string> {
    const { stdout } = await runCommand(inRoot(this.#root, ['birdc', '-s', `${this.#programs.directory}/bird.ctl`, ...words]));
    return stdout;
  }
}

function pathOf(block: string): Path {
  const value = (name: string): string | undefined => new RegExp(`(?:BGP\\.|bgp_)${name}: (.*)`).exec(block)?.[1]?.trim();
  const med = value('med');
  const localPref = value('local_pref');
  const origin = value('origin');
  // BIRD 3 shows the identifier as the first of its internal values, and 0 if the path came without one.
  const pathId = Number(/Internal route handling values: (\d+)L/.exec(block)?.[1] ?? 0);
  return {
    pathId: pathId === 0 ? undefined : pathId,
    // On a shared network the second address is the link-local one.
    nextHop: value('next_hop')?.split(' ')[0] ?? '',
    asPath: value('(?:as_)?path') ?? '',
    origin: origin === 'IGP' || origin === 'EGP' ? origin : 'incomplete',
    med: med === undefined ? undefined : Number(med),
    localPref: localPref === undefined ? undefined : Number(localPref),
    communities: listOf(value('community')),
    largeCommunities: listOf(value('large_community')),
  };
}

/** Turns "(64512,100) (64512,101)" into ["64512:100", "64512:101"]. */
function listOf(text: string | undefined): readonly string[] {
  return [...(text ?? '').matchAll(/\(([^)]*)\)/g)].map(([, inner = '']) => inner.split(/, ?/).join(':')).sort();
}
