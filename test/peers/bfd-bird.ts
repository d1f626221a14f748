import { writeFileSync } from 'node:fs';
import { run as runCommand } from '../lab/command.ts';
import { until } from '../lab/until.ts';
import { isLinkLocalText, type BfdDaemon, type BfdDaemonKind, type BfdDaemonOptions, type BfdDaemonSession } from './bfd-daemon.ts';
import { birdVersion } from './bird.ts';
import { Programs } from './daemon.ts';
import { routerAddress, type Link } from './link.ts';
import { inRoot, type Root } from './root.ts';

export function birdBfd(root: Root): BfdDaemonKind {
  return {
    name: `BIRD ${birdVersion(root)}`,
    ...(birdVersion(root).startsWith('3.1.') ? { alwaysPassive: 'BIRD 3.1 sends no packet before it has received one of ours' } : {}),
    // The default TTL of its kernel.
    multihopTtl: 60,
    cannotAdminDown: 'BIRD has no command for a single session, and sends nothing when its protocol is disabled',
    start: async (link, options) => {
      const daemon = new BirdBfd(root, link, options);
      await daemon.start();
      return daemon;
    },
  };
}

class BirdBfd implements BfdDaemon {
  readonly #root: Root;
  readonly #options: BfdDaemonOptions;
  readonly #programs: Programs;

  constructor(root: Root, link: Link, options: BfdDaemonOptions) {
    this.#root = root;
    this.#options = options;
    this.#programs = new Programs(link, root);
  }

  async start(): Promise<void> {
    const { directory } = this.#programs;
    this.#configure(this.#options.interval ?? 300);
    const { running } = this.#programs.start('bird', ['bird', '-f', '-c', `${directory}/bird.conf`, '-s', `${directory}/bird.ctl`]);
    await until('BIRD answers', async () => {
      if (!running()) throw new Error(this.#programs.log('bird'));
      return this.#birdc('show', 'status');
    });
  }

  async session(): Promise<BfdDaemonSession> {
    const text = await this.#birdc('show', 'bfd', 'sessions');
    const line = text.split('\n').find((one) => one.startsWith(this.#options.remote));
    const state = /\b(AdminDown|Down|Init|Up)\b/.exec(line ?? '')?.[1];
    const ups = this.#programs.log('bird').split('changed state from').length - 1;
    return { state: (state as BfdDaemonSession['state'] | undefined) ?? 'none', ups: ups === 0 ? undefined : ups, output: text };
  }

  async setInterval(milliseconds: number): Promise<void> {
    this.#configure(milliseconds);
    await this.#birdc('configure');
  }

  setAdminDown(): Promise<void> {
    throw new Error('BIRD cannot do that');
  }

  kill(): Promise<void> {
    return this.#programs.end('SIGKILL');
  }

  log(): string {
    return this.#programs.log('bird');
  }

  #configure(interval: number): void {
    const { local, remote, multihop, multiplier = 3, passive } = this.#options;
    const settings = `min rx interval ${interval} ms; min tx interval ${interval} ms; idle tx interval 1 s; multiplier ${multiplier}; passive ${passive === true ? 'yes' : 'no'};`;
    const neighbour = multihop === true ? `local ${local} multihop yes` : isLinkLocalText(remote) ? 'dev "v0"' : `dev "v0" local ${local}`;
    writeFileSync(
      this.#programs.path('bird.conf'),
      `
log stderr all;
router id ${routerAddress[4]};
protocol device { }
protocol bfd {
  interface "v0" { ${settings} };
  multihop { ${settings} };
  neighbor ${remote} ${neighbour};
}
`,
    );
  }

  async #birdc(...words: readonly string[]): Promise<string> {
    const { stdout } = await runCommand(inRoot(this.#root, ['birdc', '-s', `${this.#programs.directory}/bird.ctl`, ...words]));
    return stdout;
  }
}
