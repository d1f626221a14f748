import type { L2Event } from '../../l2/index.ts';
import type { History, NamedHistoryEntry } from '../../live/history.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { causeTexts } from '../l2/cause-text.ts';
import { ownerChangeOf } from '../l2/owner-changes.ts';

/** Records changes of owners and conflicts in the histories of the Services, and what concerns all addresses in that of the node. */
export class L2History {
  readonly #history: History;
  readonly #node: string;
  readonly #servicesAt: (address: string) => Iterable<ServiceKey>;
  /** The Services of the addresses for which this node answers: they may be gone when it ceases to. */
  readonly #services = new Map<string, readonly ServiceKey[]>();

  constructor(history: History, node: string, servicesAt: (address: string) => Iterable<ServiceKey>) {
    this.#history = history;
    this.#node = node;
    this.#servicesAt = servicesAt;
  }

  take(event: L2Event): void {
    if ('address' in event) {
      const entry = addressEntry(event);
      if (entry === undefined) return;
      const present = [...this.#servicesAt(event.address)];
      const services = present.length > 0 ? present : (this.#services.get(event.address) ?? []);
      if (entry.what === 'Owner') this.#services.set(event.address, services);
      else if (entry.what === 'NotOwner') this.#services.delete(event.address);
      for (const service of services) this.#history.record('Service', service, entry);
    } else {
      this.#history.record('Node', this.#node, nodeEntry(event));
    }
  }
}

type AddressEvent = Extract<L2Event, { readonly address: string }>;

function addressEntry(event: AddressEvent): NamedHistoryEntry | undefined {
  const where = `${event.address} on ${event.interface}`;
  switch (event.kind) {
    case 'conflict':
      return { what: 'Conflict', text: `${event.mac}, which is no node, uses ${where}` };
    case 'conflictEnded':
      return { what: 'ConflictEnded', text: `no other host uses ${where} any more` };
    case 'disputed':
      return { what: 'Disputed', text: `${event.node} claims ${where} again and again, although this node answers` };
    case 'changed':
      return ownerEntry(event, where);
  }
}

function ownerEntry(event: Extract<L2Event, { readonly kind: 'changed' }>, where: string): NamedHistoryEntry | undefined {
  const { cause, node, mac, previous } = event;
  const change = ownerChangeOf(event);
  if (change === undefined) return undefined;
  const by = node ?? mac;
  const because = `${causeTexts[cause]}${by === undefined ? '' : ` (${by})`}`;
  if (change === 'ceased') return { what: 'NotOwner', text: `no longer answers for ${where}: ${because}` };
  const session = previous?.session === undefined ? '' : `, with which BFD is ${previous.session}`;
  const before = previous === undefined ? '' : `; before, ${previous.node} had it${session}`;
  return { what: 'Owner', text: `answers for ${where}: ${because}${before}` };
}

function nodeEntry(event: Exclude<L2Event, AddressEvent>): NamedHistoryEntry {
  switch (event.kind) {
    case 'stalled':
      return {
        what: 'Stalled',
        text: `the thread that answers ARP and NDP did not run for ${Math.round(event.milliseconds)} ms: it asks the others before it answers again`,
      };
    case 'suspended':
      return { what: 'Suspended', text: 'ends all answers to ARP and NDP: the main thread of the agent hangs' };
    case 'resumed':
      return { what: 'Resumed', text: 'the main thread of the agent runs again' };
    case 'isolated':
      return {
        what: 'Isolated',
        text: `lost BFD with all other candidates on ${event.interface} at once: it keeps its addresses, and takes others only after it has asked`,
      };
    case 'rejoined':
      return { what: 'Rejoined', text: `BFD with another candidate on ${event.interface} is up again` };
  }
}
