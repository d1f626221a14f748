import type { Bfd, Refusal as BfdRefusal } from '../../bfd/index.ts';
import type { AddressEntry, L2, L2Event, L2Status, Refusal } from '../../l2/index.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { AddressClaim, NodeLink, NodeState, ServiceDifference } from '../../model/objects/node-state.ts';
import type { Reason } from '../../model/reasons.ts';
import type { HostLink } from '../../net/host-link.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { AddressStates, answersUnheard } from './address-states.ts';
import { ClaimRecord } from './claim-record.ts';
import { Failback } from './failback.ts';
import { OwnerChanges } from './owner-changes.ts';
import { LinkProblems } from './link-problems.ts';
import { entriesOf, type L2Plan } from './l2-table.ts';
import { Segments } from './segments.ts';
import type { Surroundings } from '../../system/random.ts';

/** The part of src/l2 that the announcer uses: `L2`, or a test double. */
export type L2Responder = Pick<L2, 'set' | 'change' | 'sessionFeed' | 'onEvent' | 'status' | 'stop'>;

/** The thread that answers, and the sessions. */
export interface Running {
  readonly responder: L2Responder;
  /** The sessions by which candidates watch each other. */
  readonly bfd: Pick<Bfd, 'set' | 'feed' | 'stop'>;
}

export interface L2AnnouncerComponents extends Surroundings {
  /** Starts the thread that answers. Called for the first address. Throws if this host cannot run it. */
  readonly startL2: () => Running;
}

interface L2AnnouncerOptions {
  readonly node: string;
  readonly snapshot: () => Snapshot;
  readonly links: () => readonly NodeLink[] | undefined;
  readonly hostLinks: () => readonly HostLink[];
  /** Called when the result of `differences` may have changed. */
  readonly onStatusChanged: () => void;
  /** Called when the order of the candidates of these Services may have changed. */
  readonly requeue: (services: Iterable<ServiceKey>) => void;
  /** Called with each event of the responder. */
  readonly onEvent?: (event: L2Event) => void;
}

/** Announces addresses by ARP and NDP: it gives the responder the addresses that this node forwards, and the other nodes of each link. */
export class L2Announcer {
  readonly #components: L2AnnouncerComponents;
  readonly #options: L2AnnouncerOptions;
  /** By address: the Services that have it, with the plan of each. */
  readonly #plans = new Map<string, Map<ServiceKey, L2Plan>>();
  readonly #byService = new Map<ServiceKey, readonly string[]>();
  /** Services whose rules the kernel has. */
  readonly #forwarded = new Set<ServiceKey>();
  /** Entries that the responder was given, by address. */
  readonly #entries = new Map<string, readonly AddressEntry[]>();
  readonly #changed = new Set<string>();
  readonly #states: AddressStates;
  readonly changes = new OwnerChanges();
  readonly #segments: Segments;
  readonly #claims: ClaimRecord;
  readonly #failback: Failback;
  readonly #linkProblems: LinkProblems;
  #running: Running | undefined;
  /** Why the responder could not be started. */
  #problem: unknown;
  #stopped = false;

  constructor(components: L2AnnouncerComponents, options: L2AnnouncerOptions) {
    this.#components = components;
    this.#options = options;
    const { node, snapshot } = options;
    this.#states = new AddressStates(node);
    this.#segments = new Segments(options);
    this.#claims = new ClaimRecord(node, snapshot);
    this.#failback = new Failback(node, {
      clock: components.clock,
      claims: this.#claims,
      links: async () => (await this.status([]))?.links ?? [],
      onGivenBack: (addresses) => this.#orderChanged(addresses),
    });
    this.#linkProblems = new LinkProblems(node, {
      clock: components.clock,
      snapshot,
      status: () => this.status([]),
      hostLinks: options.hostLinks,
      onChanged: options.onStatusChanged,
      onLook: () => {
        const now = components.clock.date().getTime();
        if (answersUnheard(node, snapshot(), now).size > 0) options.onStatusChanged();
      },
    });
  }

  /** Returns the addresses that this node announces, or was the last one to announce. The same array while nothing has changed. */
  get claims(): readonly AddressClaim[] {
    return this.#claims.claims;
  }

  /** Returns where this node cannot announce, and where candidates do not notice each other's failures, or do not hear each other. */
  problems(): readonly Reason[] {
    return this.#linkProblems.problems();
  }

  /** Returns the part of the node's report. */
  reportPart(): Pick<NodeState, 'claims'> {
    return this.#claims.reportPart();
  }

  /** Takes the plan of a Service. What it no longer has is withdrawn by the next `flush`; what is new waits for `forwarded`. */
  plan(service: ServiceKey, plans: readonly L2Plan[]): void {
    for (const address of this.#byService.get(service) ?? []) {
      this.#plans.get(address)?.delete(service);
      this.#changed.add(address);
    }
    for (const plan of plans) {
      const ofAddress = this.#plans.get(plan.address) ?? new Map<ServiceKey, L2Plan>();
      ofAddress.set(service, plan);
      this.#plans.set(plan.address, ofAddress);
      this.#changed.add(plan.address);
    }
    const addresses = plans.map(({ address }) => address);
    if (addresses.length === 0) this.#byService.delete(service);
    else this.#byService.set(service, addresses);
  }

  /** Takes whether the kernel has the rules of a Service. */
  forwarded(service: ServiceKey, isForwarded: boolean): void {
    if (this.#forwarded.has(service) === isForwarded) return;
    if (isForwarded) this.#forwarded.add(service);
    else this.#forwarded.delete(service);
    for (const address of this.#byService.get(service) ?? []) this.#changed.add(address);
  }

  /** True while an address of the Service may be answered here. */
  announces(service: ServiceKey): boolean {
    return this.#forwarded.has(service) && this.#byService.has(service);
  }

  /** Gives the responder what has changed. Costs as much as the change, unless the nodes of a link have changed. */
  flush(): void {
    if (this.#stopped) return;
    const set: AddressEntry[] = [];
    const remove: Pick<AddressEntry, 'address' | 'interface'>[] = [];
    for (const address of this.#changed) {
      const before = this.#entries.get(address) ?? [];
      const after = this.#entriesAt(address);
      this.#segments.replace(before, after);
      set.push(...after);
      remove.push(...before.filter((entry) => !after.some((one) => one.interface === entry.interface)));
      this.#failback.plan(address, this.#planOf(address));
      if (after.length === 0) {
        this.#entries.delete(address);
        this.#states.forget(address);
      } else this.#entries.set(address, after);
      if (this.#plans.get(address)?.size === 0) this.#plans.delete(address);
    }
    this.#changed.clear();
    if (this.#running === undefined && this.#entries.size === 0) return;
    const running = (this.#running ??= this.#start());
    if (running === undefined) return;
    if (this.#updateSegments(running) || set.length + remove.length === 0) return;
    void this.#report(running.responder.change({ set, remove }));
  }

  /** Returns the Services whose addresses are answered by another node than everybody would decide, or are disputed. */
  differences(): ServiceDifference[] {
    const { snapshot } = this.#options;
    const plans = [...this.#plans.values()].flatMap((ofAddress) => [...ofAddress]);
    return this.#states.differences(plans, snapshot(), this.#components.clock.date().getTime());
  }

  /** Returns what the responder was told: an entry for each address and interface. */
  entries(): AddressEntry[] {
    return [...this.#entries.values()].flat();
  }

  /** Returns all addresses that some node announces, also those for which this node is no candidate. */
  addresses(): string[] {
    return [...this.#plans.keys()];
  }

  /** Returns the interfaces on which this node is a candidate: for the address, or for any. */
  interfaces(address?: string): string[] {
    const entries = address === undefined ? this.entries() : (this.#entries.get(address) ?? []);
    return [...new Set(entries.map((entry) => entry.interface))];
  }

  /** Returns the Services that have an address. */
  servicesAt(address: string): ServiceKey[] {
    return [...(this.#plans.get(address)?.keys() ?? [])];
  }

  /** Returns the addresses of a Service that this node announces or stands ready for. */
  addressesOf(service: ServiceKey): readonly string[] {
    return this.#byService.get(service) ?? [];
  }

  /** Returns what the responder knows, of these addresses only. Absent: of all. Undefined: nothing is announced. */
  async status(addresses?: readonly string[]): Promise<L2Status | undefined> {
    return this.#running?.responder.status(addresses);
  }

  /** Gives all addresses up: each is answered until another node announces it, for a second at most. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#failback.stop();
    this.#linkProblems.stop();
    if (this.#running === undefined) return;
    const { responder, bfd } = this.#running;
    await Promise.all([responder.stop(), bfd.stop()]);
  }

  #entriesAt(address: string): AddressEntry[] {
    const plan = this.#planOf(address);
    if (plan === undefined) return [];
    const isForwarded = this.servicesAt(address).some((service) => this.#forwarded.has(service));
    return entriesOf(plan, this.#options.node, isForwarded);
  }

  #planOf(address: string): L2Plan | undefined {
    return this.#plans.get(address)?.values().next().value;
  }

  /** Sets the whole table when the links or the nodes on them have changed. Returns whether it did. */
  #updateSegments({ responder, bfd }: Running): boolean {
    const segments = this.#segments.take();
    if (segments === undefined) return false;
    const addresses = [...this.#entries.values()].flat();
    void this.#report(bfd.set(segments.flatMap(({ sessions }) => sessions)));
    void this.#report(responder.set({ node: this.#options.node, links: segments.map(({ link }) => link), addresses }));
    return true;
  }

  #start(): Running | undefined {
    const { startL2, log } = this.#components;
    try {
      const running = startL2();
      running.responder.onEvent((event) => this.#take(event));
      // From thread to thread, so that a failover does not wait for this one.
      running.bfd.feed(running.responder.sessionFeed());
      this.#linkProblems.start();
      this.#problem = undefined;
      return running;
    } catch (error) {
      if (this.#problem === undefined) log.error({ error }, 'addresses cannot be announced by ARP and NDP');
      this.#problem = error;
      return undefined;
    }
  }

  #take(event: L2Event): void {
    this.#states.take(event);
    this.#linkProblems.take(event);
    this.changes.take(event);
    this.#options.onEvent?.(event);
    this.#options.onStatusChanged();
    if (event.kind !== 'changed' || event.to !== 'owner') return;
    this.#claims.claimed(event.address);
    if (this.#planOf(event.address)?.settings.failback !== 'immediate') this.#orderChanged([event.address]);
  }

  #orderChanged(addresses: readonly string[]): void {
    this.#options.onStatusChanged();
    this.#options.requeue(addresses.flatMap((address) => this.servicesAt(address)));
  }

  async #report(refusals: Promise<readonly (Refusal | BfdRefusal)[]>): Promise<void> {
    for (const refusal of await refusals) this.#components.log.warn({ refusal }, 'refused by the program that answers ARP and NDP');
  }
}
