import { defined } from '../../lang/defined.ts';
import type { Clock } from '../../system/clock.ts';
import { DataplaneError } from '../dataplane.ts';
import type { ForeignForwarding, ForeignView } from '../foreign-forwarding.ts';
import { runCommand } from '../run-command.ts';
import { readIptablesGeneration, type LegacyTables } from '../host/ruleset-generation.ts';
import { RulesetLookup } from '../nftables/netlink/ruleset-lookup.ts';
import { IptablesReader, type ListChain } from './iptables-reader.ts';
import { limits } from './limits.ts';
import { NftablesReader } from './nftables-reader.ts';

interface KubeProxyOptions {
  /** A file such as /run/netns/node1. Absent: the network namespace of this process. */
  readonly networkNamespace?: string;
  /** Goes before each command: ['ip', 'netns', 'exec', 'node1']. */
  readonly commandPrefix?: readonly string[];
  readonly legacyTables: LegacyTables;
}

/**
 * Reads kube-proxy's forwarding from the kernel of this node: its nftables mode by netlink and events, its iptables mode with the commands
 * iptables-nft and iptables-legacy, as far as they are installed. A frontend counts as present if either mode has it.
 */
export class KubeProxyForwarding implements ForeignForwarding {
  readonly #nftables: NftablesReader;
  readonly #iptables: IptablesReader;
  readonly #ruleset: RulesetLookup;
  readonly #listeners: ((frontends: ReadonlySet<string> | undefined) => void)[] = [];

  constructor(clock: Clock, options: KubeProxyOptions) {
    const notify = (frontends: ReadonlySet<string> | undefined): void => {
      for (const listener of this.#listeners) listener(frontends);
    };
    this.#nftables = new NftablesReader(clock, options.networkNamespace, notify);
    this.#ruleset = new RulesetLookup(clock, options.networkNamespace);
    const generation = (): Promise<number | undefined> =>
      readIptablesGeneration({
        legacyTables: options.legacyTables,
        tables: ['nat', 'filter'],
        generation: () => this.#ruleset.generation(),
      });
    this.#iptables = new IptablesReader({ clock, list: listChain(options), generation }, notify);
  }

  get view(): ForeignView {
    const modes = [this.#nftables.present ? ['nftables'] : [], this.#iptables.present ? ['iptables'] : []].flat();
    if (modes.length === 0) {
      const unavailableBecause = this.#iptables.ipvs
        ? 'kube-proxy is in its ipvs mode, which Herald does not read'
        : this.#nftables.unavailableBecause;
      return { seen: false, ...defined({ unavailableBecause }) };
    }
    const bits = new Set([...this.#nftables.masqueradeBits, ...this.#iptables.masqueradeBits]);
    return { seen: true, program: `kube-proxy (${modes.join(' and ')})`, masqueradeBits: [...bits] };
  }

  has(frontend: string): boolean {
    return this.#nftables.has(frontend) || this.#iptables.has(frontend);
  }

  onChange(listener: (frontends: ReadonlySet<string> | undefined) => void): void {
    this.#listeners.push(listener);
  }

  async start(): Promise<void> {
    await Promise.all([this.#nftables.start(), this.#iptables.start()]);
  }

  async stop(): Promise<void> {
    await Promise.all([this.#nftables.stop(), this.#iptables.stop()]);
    await this.#ruleset.close();
  }
}

function listChain({ commandPrefix = [], legacyTables }: KubeProxyOptions): ListChain {
  return async (command, { table, name }) => {
    // The legacy commands create the table that they are asked about.
    if (command.endsWith('-legacy') && !(await legacyTables(command.startsWith('ip6') ? 'ip6' : 'ip')).includes(table)) return [];
    const [first, ...rest] = [...commandPrefix, command, '-w', '5', '-t', table, '-S', name];
    const bounds = { timeout: limits.commandTimeout, outputBytes: limits.outputBytes };
    try {
      const { status, stdout, stderr } = await runCommand([first ?? command, ...rest], '', bounds);
      if (status === 0) return stdout.split('\n').filter((text) => text.startsWith('-A '));
      // Status 1: the chain does not exist. Other statuses: a lock is held, or a permission is missing.
      if (status === 1) return [];
      throw new DataplaneError('failed', `${command} ended with ${status}: ${stderr.trim()}`);
    } catch (error) {
      if (error instanceof DataplaneError && error.code === 'unavailable') return [];
      throw error;
    }
  };
}
