import type { LinkStatus } from '../../l2/index.ts';
import type { Cancel, Clock } from '../../system/clock.ts';
import { limits } from '../limits.ts';
import type { ClaimRecord } from './claim-record.ts';
import type { L2Plan } from './l2-table.ts';

interface FailbackComponents {
  readonly clock: Clock;
  readonly claims: ClaimRecord;
  /** The links with the other nodes on them and whether those live. */
  readonly links: () => Promise<readonly LinkStatus[]>;
  /** Called when addresses are given back. */
  readonly onGivenBack: (addresses: readonly string[]) => void;
}

/** Gives an address back to the better placed node when that one has lived for `failbackSeconds` without a break (`failback: after`). */
export class Failback {
  readonly #components: FailbackComponents;
  readonly #node: string;
  /** Addresses of this node that may be given back, with their plans. */
  readonly #waiting = new Map<string, L2Plan>();
  /** Since when each other node of a link has lived, by interface and node, in milliseconds of the clock. */
  #livingSince = new Map<string, number>();
  #cancel: Cancel | undefined;
  #stopped = false;

  constructor(node: string, components: FailbackComponents) {
    this.#node = node;
    this.#components = components;
  }

  /** Takes the plan of an address. Undefined: it has none any more. */
  plan(address: string, plan: L2Plan | undefined): void {
    if (plan?.settings.failback === 'after' && plan.candidates.some(({ node }) => node === this.#node)) this.#waiting.set(address, plan);
    else this.#waiting.delete(address);
    if (this.#waiting.size > 0 && !this.#stopped) this.#cancel ??= this.#later();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
  }

  #later(): Cancel {
    return this.#components.clock.after(limits.failbackCheckMilliseconds, () => void this.#check());
  }

  async #check(): Promise<void> {
    const { clock, claims, links, onGivenBack } = this.#components;
    const now = clock.now();
    const living = (await links()).flatMap((link) =>
      link.peers.filter(({ standing }) => standing === 'in').map(({ node }) => `${link.interface} ${node}`),
    );
    this.#livingSince = new Map(living.map((key) => [key, this.#livingSince.get(key) ?? now]));
    const own = new Map(claims.claims.map((claim) => [claim.address, claim]));
    const changed: string[] = [];
    for (const [address, plan] of this.#waiting) {
      const claim = own.get(address);
      if (claim === undefined) continue;
      const givesBack = this.#hasWaited(plan, now);
      if (givesBack === undefined || givesBack === (claim.givesBack === true)) continue;
      claims.setGivesBack(address, givesBack);
      changed.push(address);
    }
    if (changed.length > 0) onGivenBack(changed);
    this.#cancel = this.#stopped || this.#waiting.size === 0 ? undefined : this.#later();
  }

  /** Undefined: this node is the best one, or another one has the address. */
  #hasWaited({ candidates, settings }: L2Plan, now: number): boolean | undefined {
    const [first, second] = candidates;
    const own = candidates.find(({ node }) => node === this.#node);
    const better = first?.node !== this.#node ? first : first.keeps === true ? second : undefined;
    if (own === undefined || better === undefined || better.keeps === true) return undefined;
    const since = own.links.map(({ name }) => this.#livingSince.get(`${name} ${better.node}`)).filter((at) => at !== undefined);
    return since.some((at) => now - at >= settings.failbackSeconds * 1000) || (first?.node !== this.#node && since.length > 0);
  }
}
