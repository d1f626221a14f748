import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { run as runCommand } from '../lab/command.ts';
import { until } from '../lab/until.ts';
import { isLinkLocalText, type BfdDaemon, type BfdDaemonKind, type BfdDaemonOptions, type BfdDaemonSession } from './bfd-daemon.ts';
import { Programs } from './daemon.ts';
import { routerAddress, type Link } from './link.ts';
import { hostRoot, inNamespaceOf } from './root.ts';

/** Debian's GoBGP has no BFD yet. scripts/setup-gobgp.sh builds this newer one. */
const moduleDirectory = join(import.meta.dirname, 'gobgp');
const [, version = 'of unknown version'] =
  /^\tgithub\.com\/osrg\/gobgp\/v4 v([\d.]+)/m.exec(readFileSync(join(moduleDirectory, 'go.mod'), 'utf8')) ?? [];

export const gobgpBfd: BfdDaemonKind = {
  name: `GoBGP ${version}`,
  multihopTtl: 254,
  cannotAdminDown: 'GoBGP has no command for it',
  cannotBePassive: 'GoBGP has no passive mode',
  restartsOnNewIntervals: 'GoBGP replaces a session whose intervals change by a new one, which signals Down',
  cannotMultihop: 'GoBGP listens only at port 3784, which is for neighbours',
  start: async (link, options) => {
    const daemon = new GobgpBfd(link, options);
    await daemon.start();
    return daemon;
  },
};

/** The values of BfdSessionState in its API. */
const states = { 1: 'Up', 2: 'Down', 3: 'AdminDown', 4: 'Init' } as const;

class GobgpBfd implements BfdDaemon {
  readonly #link: Link;
  readonly #options: BfdDaemonOptions;
  readonly #programs: Programs;
  #signal: (signal: NodeJS.Signals) => void = () => {};

  constructor(link: Link, options: BfdDaemonOptions) {
    this.#link = link;
    this.#options = options;
    this.#programs = new Programs(link, hostRoot);
  }

  async start(): Promise<void> {
    this.#configure(this.#options.interval ?? 300);
    const argv = [program('gobgpd'), '-f', this.#file, '--log-plain', '-l', 'debug'];
    const { running, signal } = this.#programs.start('gobgpd', argv);
    this.#signal = signal;
    await until('GoBGP has its neighbor', async () => {
      if (!running()) throw new Error(this.#programs.log('gobgpd'));
      return this.#ask();
    });
  }

  async session(): Promise<BfdDaemonSession> {
    const text = await this.#ask();
    const { state } = JSON.parse(text) as { readonly state?: { readonly bfd_state?: { readonly session_state?: keyof typeof states } } };
    const ups = this.#programs.log('gobgpd').split('Set state to UP').length - 1;
    return { state: states[state?.bfd_state?.session_state ?? 2] ?? 'none', ups, output: text };
  }

  setInterval(milliseconds: number): Promise<void> {
    this.#configure(milliseconds);
    this.#signal('SIGHUP');
    return Promise.resolve();
  }

  setAdminDown(): Promise<void> {
    throw new Error('GoBGP cannot do that');
  }

  kill(): Promise<void> {
    return this.#programs.end('SIGKILL');
  }

  log(): string {
    return this.#programs.log('gobgpd');
  }

  get #file(): string {
    return this.#programs.path('gobgpd.toml');
  }

  get #neighbor(): string {
    const { remote } = this.#options;
    return isLinkLocalText(remote) ? `${remote}%v0` : remote;
  }

  #configure(interval: number): void {
    const { multiplier = 3 } = this.#options;
    writeFileSync(
      this.#file,
      `
[global.config]
as = 65001
router-id = "${routerAddress[4]}"
[[neighbors]]
[neighbors.config]
neighbor-address = "${this.#neighbor}"
peer-as = 64512
[neighbors.transport.config]
passive-mode = true
[neighbors.bfd.config]
enabled = true
desired-minimum-tx-interval = ${interval * 1000}
required-minimum-receive = ${interval * 1000}
detection-multiplier = ${multiplier}
`,
    );
  }

  async #ask(): Promise<string> {
    const { stdout } = await runCommand(inNamespaceOf(hostRoot, this.#link.router, [program('gobgp'), '-j', 'neighbor', this.#neighbor]));
    return stdout;
  }
}

function program(name: 'gobgpd' | 'gobgp'): string {
  const digest = createHash('sha256');
  // scripts/setup-gobgp.sh computes the same digest from the same files.
  for (const file of ['go.mod', 'go.sum']) digest.update(readFileSync(join(moduleDirectory, file)));
  const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  const path = join(cache, 'herald/gobgp', digest.digest('hex').slice(0, 16), name);
  if (!existsSync(path)) throw new Error(`${name} is not built yet: sh scripts/setup-gobgp.sh`);
  return path;
}
