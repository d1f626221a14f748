import type { Family } from '../../net/address.ts';
import type { Cancel, Clock } from '../../system/clock.ts';
import { listChangedRules } from '../host/ruleset-generation.ts';
import { frontendChains, frontendOfRule, isOfIpvs, markBit, markChain, type Chain } from './iptables-rules.ts';
import { limits } from './limits.ts';
import { SeenFrontends, type MapKind } from './seen-frontends.ts';

/**
 * Lists the rules of a chain as arguments of iptables. Empty if the chain or the command does not exist. Rejects when the rules cannot be
 * read.
 */
export type ListChain = (command: string, chain: Chain) => Promise<readonly string[]>;

const commands: readonly (readonly [Family, string])[] = [
  [4, 'iptables-nft'],
  [6, 'ip6tables-nft'],
  [4, 'iptables-legacy'],
  [6, 'ip6tables-legacy'],
];

interface IptablesComponents {
  readonly clock: Clock;
  readonly list: ListChain;
  /** Resolves to a number that changes with the rules; to undefined if they may change unseen. */
  readonly generation: () => Promise<number | undefined>;
}

/** Polls the chains of kube-proxy's iptables mode, and reads them when a rule has changed. */
export class IptablesReader {
  readonly #components: IptablesComponents;
  readonly #onChange: (frontends: ReadonlySet<string> | undefined) => void;
  readonly #seen = new SeenFrontends();
  #state: { readonly present: boolean; readonly ipvs: boolean; readonly bits: readonly number[] } = absent;
  #cancel: Cancel | undefined;
  #polling: Promise<void> | undefined;
  /** Reads the chains if they may have changed since the latest read that succeeded. */
  #readChanged: () => Promise<void>;

  constructor(components: IptablesComponents, onChange: (frontends: ReadonlySet<string> | undefined) => void) {
    this.#components = components;
    this.#onChange = onChange;
    this.#readChanged = this.#changedReader();
  }

  get present(): boolean {
    return this.#state.present && !this.#state.ipvs;
  }

  /** True if kube-proxy's chains are those of its ipvs mode. They do not show its virtual servers. */
  get ipvs(): boolean {
    return this.#state.ipvs;
  }

  get masqueradeBits(): readonly number[] {
    return this.#state.bits;
  }

  has(frontend: string): boolean {
    return this.#seen.has(frontend);
  }

  async start(): Promise<void> {
    this.#polling ??= this.#poll();
    await this.#polling;
  }

  async stop(): Promise<void> {
    const polling = this.#polling;
    this.#polling = undefined;
    this.#cancel?.();
    await polling;
    this.#cancel?.();
    this.#state = absent;
    this.#readChanged = this.#changedReader();
    this.#seen.replaceFrontends({ mapped: new Set(), without: new Set() });
    this.#seen.takeChanges();
  }

  async #poll(): Promise<void> {
    try {
      await this.#readChanged();
    } catch {
      // Keeps the state of the last successful read.
    }
    this.#cancel = this.#components.clock.after(limits.iptablesPollMilliseconds, () => {
      if (this.#polling !== undefined) this.#polling = this.#poll();
    });
  }

  #changedReader(): () => Promise<void> {
    return listChangedRules(() => this.#read(), this.#components.generation);
  }

  async #read(): Promise<void> {
    const parts: Readonly<Record<MapKind, Set<string>>> = { mapped: new Set(), without: new Set() };
    const bits = new Set<number>();
    let [present, ipvs] = [false, false];
    for (const [family, command] of commands) {
      const marks = await this.#components.list(command, markChain);
      if (marks.length === 0) continue;
      present = true;
      for (const rule of marks) bits.add(markBit(rule) ?? -1);
      for (const chain of frontendChains) {
        for (const rule of await this.#components.list(command, chain)) {
          ipvs ||= isOfIpvs(rule);
          const found = frontendOfRule(family, rule);
          if (found !== undefined && parts[found.part].size < limits.frontends) parts[found.part].add(found.frontend);
        }
      }
    }
    bits.delete(-1);
    const before = JSON.stringify(this.#state);
    this.#state = { present, ipvs, bits: [...bits] };
    this.#seen.replaceFrontends(parts);
    const changes = this.#seen.takeChanges();
    if (JSON.stringify(this.#state) !== before) this.#onChange(undefined);
    else if (changes.size > 0) this.#onChange(changes);
  }
}

const absent = { present: false, ipvs: false, bits: [] } as const;
