import { answersClients, type ClaimEvent, type ClaimState, type L2Event } from '../../l2/index.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { runningReport, type ServiceDifference } from '../../model/objects/node-state.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
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
  }

  /** Returns the differences of the addresses of the Services. `now` is in milliseconds since the epoch. */
  differences(plans: Iterable<readonly [ServiceKey, L2Plan]>, snapshot: Snapshot, now: number): ServiceDifference[] {
    const found: ServiceDifference[] = [];
    for (const [service, plan] of plans) {
      const because = this.#difference(plan, snapshot, now);
      if (because !== undefined) found.push({ service, aspect: 'Announced', reason: because });
    }
    return found;
  }

  #difference({ address, candidates }: L2Plan, { nodeStates }: Snapshot, now: number): Reason | undefined {
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
    if (isAnswered || best !== this.#node) return undefined;
    const owner = states.find(({ node }) => node !== undefined)?.node;
    return owner === undefined ? undefined : reason('L2NotOwner', { node: this.#node, owner });
  }
}

function whyItAnswers(state: AddressState | undefined): string {
  if (state?.state === 'keeping') return 'it goes on until the other one has announced the address';
  if (state?.state === 'leaving') return 'it goes on until another one has announced the address';
  return 'no better placed node answers';
}
