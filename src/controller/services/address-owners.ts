import { lastClaims } from '../../decisions/l2/last-claims.ts';
import { reasonLine } from '../../decisions/verdict/verdict-text.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { NodeState, ServiceDifference } from '../../model/objects/node-state.ts';
import { reasonText } from '../../model/reasons.ts';
import type { Change, Snapshot } from '../../model/store/snapshot.ts';
import { address as parse } from '../../net/address.ts';
import type { Log } from '../../system/log.ts';
import type { EventSink } from '../events/event-sink.ts';
import type { EventName } from '../events/event-table.ts';
import { objectEvent, serviceReference } from '../events/object-event.ts';

interface AddressOwnersComponents {
  readonly log: Log;
  readonly events: EventSink;
}

/** Reports on Services which node took over an address by ARP or NDP, and which foreign host uses one, once a node says so. */
export class AddressOwners {
  readonly #components: AddressOwnersComponents;
  readonly #claims = new Map<string, NodeState['claims']>();
  readonly #owners = new Map<string, string>();
  /** By node: the conflicts of its last report, each as text. */
  readonly #conflicts = new Map<string, ReadonlySet<string>>();

  constructor(components: AddressOwnersComponents) {
    this.#components = components;
  }

  /** Takes what nodes have reported before this controller led: another one has told it. */
  adopt(snapshot: Pick<Snapshot, 'nodes' | 'nodeStates'>): void {
    for (const [address, { node }] of lastClaims(snapshot)) this.#owners.set(address, node);
    for (const [node, { claims, differing }] of snapshot.nodeStates) {
      this.#claims.set(node, claims);
      this.#conflicts.set(node, new Set(differing.filter(isConflict).map(conflictText)));
    }
  }

  changed(changes: readonly Change[], snapshot: Snapshot): void {
    const nodes = changes.flatMap(({ kind, key }) => (kind === 'NodeState' ? [key] : []));
    for (const node of nodes) this.#reportConflicts(node, snapshot);
    // Most reports only say that the agent lives.
    const claiming = nodes.filter((node) => !sameClaims(this.#claims.get(node), snapshot.nodeStates.get(node)?.claims));
    if (claiming.length === 0) return;
    for (const node of claiming) this.#claims.set(node, snapshot.nodeStates.get(node)?.claims);
    this.#reportOwners(snapshot);
  }

  #reportOwners(snapshot: Snapshot): void {
    const last = lastClaims(snapshot);
    for (const [address, { node }] of last) {
      const before = this.#owners.get(address);
      if (before === node) continue;
      this.#owners.set(address, node);
      // The Event about the first announcement of the Service has told of the first owner.
      if (before === undefined) continue;
      this.#components.log.info({ address, node, before }, 'address has another owner');
      const note = `${node} answers for ${address} now; before, ${before} did`;
      for (const service of snapshot.holdersOf(parse(address))) this.#record(snapshot, service, 'ownerChanged', note);
    }
    for (const address of this.#owners.keys()) if (!last.has(address)) this.#owners.delete(address);
  }

  #reportConflicts(node: string, snapshot: Snapshot): void {
    const before = this.#conflicts.get(node);
    const present = (snapshot.nodeStates.get(node)?.differing ?? []).filter(isConflict);
    if (present.length === 0) this.#conflicts.delete(node);
    else this.#conflicts.set(node, new Set(present.map(conflictText)));
    for (const conflict of present) {
      if (before?.has(conflictText(conflict)) === true) continue;
      const { service, reason } = conflict;
      this.#components.log.warn({ service, node, reason: reasonText(reason) }, 'another host uses an address');
      this.#record(snapshot, service, 'addressConflict', reasonLine(reason), reason.code);
    }
  }

  #record(snapshot: Snapshot, key: ServiceKey, name: EventName, note: string, code?: string): void {
    const service = snapshot.services.get(key);
    if (service !== undefined) this.#components.events.record(objectEvent(name, serviceReference(service), note, code));
  }
}

function isConflict({ reason: { code } }: ServiceDifference): boolean {
  return code === 'L2AddressConflict' || code === 'L2AddressContested';
}

function conflictText({ service, reason: { details } }: ServiceDifference): string {
  return `${service} ${JSON.stringify(details)}`;
}

function sameClaims(a: NodeState['claims'] = [], b: NodeState['claims'] = []): boolean {
  return a.length === b.length && a.every((one, index) => one.number === b[index]?.number && one.address === b[index].address);
}
