import { answersClients, type ClaimEvent, type ClaimState, type L2Event } from '../../l2/index.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { runningReport, type ServiceDifference } from '../../model/objects/node-state.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { limits } from '../limits.ts';
import type { L2Plan } from './l2-table.ts';

/** The last report of the responder about an address on one interface. */
interface AddressState {
  readonly interface: string;
  readonly state: ClaimState;
  readonly cause: ClaimEvent | 'removed';
  /** The other node that caused it. */
  readonly node?: string;
}

/** Remembers what the responder tells, and finds out where it differs from what every node would decide. */
export class AddressStates {
  readonly #node: string;
  readonly #states = new Map<string, Map<string, AddressState>>();
  /** Since when another node says that it answers for an address that this node answers for, by address. */
  readonly #twice = new Map<string, number>();
  readonly #conflicts = new Map<string, { readonly interface: string; readonly linkAddress: string }>();

  constructor(node: string) {
    this.#node = node;
  }

  take(event: L2Event): void {
    if (event.kind === 'conflict') {
      this.#conflicts.set(event.address, { interface: event.interface, linkAddress: event.mac });
    } else if (event.kind === 'conflictEnded') {
      this.#conflicts.delete(event.address);
    } else if (event.kind === 'changed') {
      const { address, interface: name, to: state, cause, node } = event;
      const ofAddress = this.#states.get(address) ?? new Map<string, AddressState>();
      ofAddress.set(name, { interface: name, state, cause, ...(node === undefined ? {} : { node }) });
      this.#states.set(address, ofAddress);
      // While it probes again after a conflict, nothing is known yet.
      if (state === 'standby' || (state === 'owner' && event.from === 'probing')) this.#conflicts.delete(address);
    }
  }

  /** Forgets an address that this node no longer has. */
  forget(address: string): void {
    this.#states.delete(address);
    this.#conflicts.delete(address);
    this.#twice.delete(address);
  }

  /** Returns the differences of the addresses of the Services. `now` is in milliseconds since the epoch. */
  differences(plans: Iterable<readonly [ServiceKey, L2Plan]>, snapshot: Snapshot, now: number): ServiceDifference[] {
    const found: ServiceDifference[] = [];
    const unheard = answersUnheard(this.#node, snapshot, now);
    for (const [service, plan] of plans) {
      const because = this.#difference(plan, snapshot, now, unheard);
      if (because !== undefined) found.push({ service, aspect: 'Announced', reason: because });
    }
    return found;
  }

  #difference(
    { address, candidates }: L2Plan,
    { nodeStates }: Snapshot,
    now: number,
    unheard: ReadonlyMap<string, string>,
  ): Reason | undefined {
    const states = [...(this.#states.get(address)?.values() ?? [])];
    const conflict = this.#conflicts.get(address);
    const isAnswered = states.some(({ state }) => answersClients(state));
    if (conflict !== undefined)
      return reason(isAnswered ? 'L2AddressContested' : 'L2AddressConflict', { address, ...conflict, node: this.#node });
    const isRunning = (node: string): boolean => node === this.#node || runningReport(nodeStates, node, now) !== undefined;
    const best = candidates.find(({ node }) => isRunning(node))?.node;
    if (best === undefined) return undefined;
    if (isAnswered && best !== this.#node) {
      const because = whyItAnswers(states.find(({ state }) => answersClients(state)));
      return reason('L2AnswersInstead', { node: this.#node, address, best, because });
    }
    if (isAnswered && best === this.#node) return this.#secondOwner(address, states, unheard.get(address), now);
    if (isAnswered || best !== this.#node) return undefined;
    const owner = states.find(({ node }) => node !== undefined)?.node;
    return owner === undefined ? undefined : reason('L2NotOwner', { node: this.#node, owner });
  }

  /**
   * Returns why this node, the best placed one, is not the only one that answers. `other` reports that it hears no better placed one. For a moment both may
   * say so when an address moves.
   */
  #secondOwner(address: string, states: readonly AddressState[], other: string | undefined, now: number): Reason | undefined {
    const since = this.#twice.get(address) ?? now;
    if (other === undefined) this.#twice.delete(address);
    else this.#twice.set(address, since);
    if (other === undefined || now - since < limits.twoOwnersMilliseconds) return undefined;
    const own = states.find(({ state }) => answersClients(state));
    return reason('L2TwoOwners', { node: this.#node, interface: own?.interface ?? '', other, address });
  }
}

/** Returns the other nodes that report to answer for an address although a better placed node lives, because they do not hear it; by address. */
export function answersUnheard(own: string, { nodeStates }: Pick<Snapshot, 'nodeStates'>, now: number): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const node of nodeStates.keys()) {
    if (node === own) continue;
    for (const { reason: why } of runningReport(nodeStates, node, now)?.differing ?? [])
      if (why.code === 'L2AnswersInstead' && why.details.because === noBetterHeard) found.set(why.details.address, node);
  }
  return found;
}

const noBetterHeard = 'no better placed node answers';

function whyItAnswers(state: AddressState | undefined): string {
  if (state?.state === 'keeping') return 'it goes on until the other one has announced the address';
  if (state?.state === 'leaving') return 'it goes on until another one has announced the address';
  return noBetterHeard;
}
