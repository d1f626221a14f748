import { isLinkLocalText, type BfdDaemon, type BfdDaemonKind, type BfdDaemonOptions, type BfdDaemonSession } from './bfd-daemon.ts';
import { FrrDaemons, frrVersion } from './frr-daemons.ts';
import type { Link } from './link.ts';
import type { Root } from './root.ts';

export function frrBfd(root: Root): BfdDaemonKind {
  return {
    name: `FRR ${frrVersion(root)}`,
    multihopTtl: 250,
    start: async (link, options) => {
      const daemon = new FrrBfd(root, link, options);
      await daemon.start();
      return daemon;
    },
  };
}

const states = { up: 'Up', down: 'Down', init: 'Init', shutdown: 'AdminDown' } as const;

class FrrBfd implements BfdDaemon {
  readonly #options: BfdDaemonOptions;
  readonly #daemons: FrrDaemons;

  constructor(root: Root, link: Link, options: BfdDaemonOptions) {
    this.#options = options;
    this.#daemons = new FrrDaemons(root, link);
  }

  start(): Promise<void> {
    const { interval = 300, multiplier = 3, passive, multihop } = this.#options;
    return this.#daemons.start(
      `
frr defaults datacenter
log stdout informational
bfd
 profile lab
  transmit-interval ${interval}
  receive-interval ${interval}
  detect-multiplier ${multiplier}
  ${passive === true ? 'passive-mode' : '!'}
  ${multihop === true ? 'minimum-ttl 250' : '!'}
 exit
 ${this.#peer}
  profile lab
 exit
exit
`,
      { bfdd: [] },
    );
  }

  async session(): Promise<BfdDaemonSession> {
    const text = await this.#daemons.vtysh('show bfd peers json');
    const [peer] = JSON.parse(text) as { readonly status: keyof typeof states }[];
    const counters = JSON.parse(await this.#daemons.vtysh('show bfd peers counters json')) as { readonly 'session-up': number }[];
    return { state: peer === undefined ? 'none' : states[peer.status], ups: counters[0]?.['session-up'], output: text };
  }

  async setInterval(milliseconds: number): Promise<void> {
    const intervals = [`transmit-interval ${milliseconds}`, `receive-interval ${milliseconds}`];
    await this.#daemons.vtysh('configure terminal', 'bfd', 'profile lab', ...intervals);
  }

  async setAdminDown(down: boolean): Promise<void> {
    await this.#daemons.vtysh('configure terminal', 'bfd', this.#peer, down ? 'shutdown' : 'no shutdown');
  }

  kill(): Promise<void> {
    return this.#daemons.programs.end('SIGKILL');
  }

  log(): string {
    return this.#daemons.programs.log('bfdd');
  }

  get #peer(): string {
    const { local, remote, multihop } = this.#options;
    // A link-local peer is named by its interface alone.
    const where = multihop === true ? 'multihop ' : '';
    return `peer ${remote} ${where}local-address ${local}${multihop === true || !isLinkLocalText(remote) ? '' : ' interface v0'}`;
  }
}
