import { resolveOptions, type PeerOptions, type Route, type Speaker } from '../../../../src/bgp/index.ts';
import { formatAddress } from '../../../../src/net/address.ts';
import { formatPrefix, type Prefix } from '../../../../src/net/prefix.ts';

/** A double of Speaker for the agent: logs at once what a peer would receive, in the order of the calls. */
export class RecordingSpeaker {
  readonly tables = new Map<string, Set<string>>();
  /** The route that was announced last, by "prefix to peer". Withdrawn routes stay. */
  readonly last = new Map<string, Route>();
  /** Peers whose session is held down. */
  readonly down = new Set<string>();
  /** Number of routes that were sent, repeats included. */
  told = 0;
  readonly #log: string[];

  constructor(log: string[]) {
    this.#log = log;
  }

  /** For the constructor of Agent. */
  get speaker(): Speaker {
    return this as unknown as Speaker;
  }

  addPeer(first: PeerOptions): object {
    let options = resolveOptions(first);
    const { name } = options;
    const table = new Set<string>();
    this.tables.set(name, table);
    this.#log.push(`open ${name}`);
    const announce = (route: Route): void => {
      this.last.set(`${formatPrefix(route.prefix)} to ${name}`, route);
      this.#change(table.has(formatPrefix(route.prefix)) ? 'again' : 'announce', name, route.prefix, table);
    };
    const withdraw = (prefix: Prefix): void => {
      if (table.has(formatPrefix(prefix))) this.#change('withdraw', name, prefix, table);
    };
    return {
      name,
      routes: {
        set: (routes: readonly Route[]) => routes.forEach(announce),
        update: (change: { readonly announce: readonly Route[]; readonly withdraw: readonly Prefix[] }) => {
          change.withdraw.forEach(withdraw);
          change.announce.forEach(announce);
        },
      },
      on: () => () => undefined,
      contendingPaths: () => [],
      reconfigure: (next: PeerOptions) => {
        options = resolveOptions(next);
        if (options.adminDown) this.down.add(name);
        else this.down.delete(name);
      },
      status: () => ({
        name,
        address: options.address === undefined ? '' : formatAddress(options.address),
        state: 'Established',
        since: new Date(0),
        localAsn: options.localAsn,
        peerAsn: 64513,
        prefixesAdvertised: { ipv4: table.size, ipv6: 0 },
        damping: { penalty: 0, flapsInLastHour: 0 },
        notPossible: [],
      }),
    };
  }

  removePeer(name: string): void {
    this.tables.delete(name);
    this.#log.push(`close ${name}`);
  }

  onChange(): () => void {
    return () => undefined;
  }

  /** The ports that it claims to listen on. Nothing connects to them. */
  listensOn: readonly number[] = [];

  listening(): { readonly sockets: readonly object[] } {
    return { sockets: this.listensOn.map((port) => ({ port, listening: true })) };
  }

  async stop({ message, mode }: { readonly message: string; readonly mode: string }): Promise<void> {
    this.#log.push(`stop for ${mode}: ${message}`);
  }

  #change(what: 'announce' | 'again' | 'withdraw', name: string, prefix: Prefix, table: Set<string>): void {
    this.told++;
    const text = formatPrefix(prefix);
    if (what === 'withdraw') table.delete(text);
    else table.add(text);
    if (what !== 'again') this.#log.push(`${what} ${text} to ${name}`);
  }
}
