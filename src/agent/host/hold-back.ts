import type { BlockedFamily } from '../../decisions/host/blocked-by-settings.ts';
import type { HeldBackFamily } from '../../model/objects/node-state.ts';
import { reasonText, remedyText, type Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatTime } from '../../model/time.ts';
import { limits } from '../limits.ts';
import type { Surroundings } from '../../system/random.ts';
import { otherNodesText } from '../reconcile/other-nodes.ts';

interface HoldBackOptions {
  readonly node: string;
  readonly snapshot: () => Snapshot;
  /** The families that the host does not forward, by the last check. */
  readonly blocked: () => readonly BlockedFamily[];
  /** Plans every Service again. */
  readonly requeueAll: () => void;
  readonly onStatusChanged: () => void;
}

interface Held {
  readonly since: string;
  /** Times of the monotonic clock, in milliseconds. */
  readonly began: number;
  /** Absent: the last check found the family blocked. */
  goodSince?: number;
  settled: boolean;
  reason: Reason;
}

const families = [4, 6] as const;

/**
 * Tracks the families that this node cannot forward, for the announcement decision. Routes are withdrawn only after a delay, and come back
 * only after the family was forwarded for a longer time, so that a setting that flaps moves no routes with it. At the start of the agent no
 * route is announced yet, so nothing is delayed.
 */
export class HoldBack {
  readonly #components: Surroundings;
  readonly #options: HoldBackOptions;
  readonly #held = new Map<(typeof families)[number], Held>();
  #begun = false;
  #otherNodes = '';

  constructor(components: Surroundings, options: HoldBackOptions) {
    this.#components = components;
    this.#options = options;
  }

  /** Called after each check of the host. */
  check(): void {
    const before = JSON.stringify(this.view());
    const blocked = this.#options.blocked();
    for (const family of families) this.#checkFamily(family, blocked.find((one) => one.family === family)?.reason);
    const hasBegun = this.#begun;
    this.#begun = true;
    const isChanged = JSON.stringify(this.view()) !== before;
    if (isChanged) this.#options.onStatusChanged();
    const others = this.#held.size === 0 ? '' : this.#otherNodesText();
    const haveOthersChanged = others !== this.#otherNodes;
    this.#otherNodes = others;
    if (hasBegun && (isChanged || haveOthersChanged)) this.#options.requeueAll();
  }

  /** Returns the families that are held back, for the announcement decision. */
  view(): readonly HeldBackFamily[] {
    return [...this.#held].map(([family, { since, settled, reason }]) => ({ family: `IPv${family}`, since, settled, reason }));
  }

  report(): { readonly heldBack?: readonly HeldBackFamily[] } {
    const isReported = this.#held.size > 0 && this.#options.snapshot().config.hostProblems === 'withdraw';
    return isReported ? { heldBack: this.view() } : {};
  }

  #checkFamily(family: (typeof families)[number], because: Reason | undefined): void {
    const { clock, log } = this.#components;
    const now = clock.now();
    const held = this.#held.get(family);
    if (because !== undefined) {
      const began = held?.began ?? now;
      const settled = held?.settled === true || !this.#begun || now - began >= limits.holdBackMilliseconds;
      const since = held?.since ?? formatTime(clock.date().getTime());
      this.#held.set(family, { since, began, settled, reason: because });
      if (settled && held?.settled !== true) {
        const fields = { family: `IPv${family}`, problem: reasonText(because), fix: remedyText(because) };
        log.warn(fields, 'the node cannot forward and holds its routes back');
      }
      return;
    }
    if (held === undefined) return;
    held.goodSince ??= now;
    if (now - held.goodSince < (held.settled ? limits.resumeMilliseconds : limits.holdBackMilliseconds)) return;
    this.#held.delete(family);
    if (held.settled) log.info({ family: `IPv${family}` }, 'the node forwards again and announces its routes');
  }

  #otherNodesText(): string {
    return otherNodesText(this.#options.snapshot(), this.#options.node, this.#components.clock.date().getTime());
  }
}
