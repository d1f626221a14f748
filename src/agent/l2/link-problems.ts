import type { L2Event, L2Status, LinkStatus } from '../../l2/index.ts';
import { uplinksWith } from '../../decisions/l2/eligible-links.ts';
import { isPromiscuous, linksWithoutCarrier, linkTroubles } from '../../decisions/l2/link-troubles.ts';
import { runningReport } from '../../model/objects/node-state.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import type { HostLink } from '../../net/host-link.ts';
import type { Cancel, Clock } from '../../system/clock.ts';
import { limits } from '../limits.ts';

interface LinkProblemsComponents {
  readonly clock: Clock;
  readonly snapshot: () => Snapshot;
  /** The links, without addresses. Undefined: nothing is announced. */
  readonly status: () => Promise<Pick<L2Status, 'links'> | undefined>;
  /** The interfaces of this host. */
  readonly hostLinks: () => readonly HostLink[];
  /** Called when the result of `problems` has changed. */
  readonly onChanged: () => void;
  /** Called at each regular look. */
  readonly onLook?: () => void;
}

interface Dispute {
  readonly address: string;
  readonly interface: string;
  readonly other: string;
  readonly at: number;
}

/** Finds links that this node cannot use, or not well, and links whose candidates do not notice or hear each other. */
export class LinkProblems {
  readonly #node: string;
  readonly #components: LinkProblemsComponents;
  /** By interface and node: the last dispute. */
  readonly #disputes = new Map<string, Dispute>();
  #links: readonly LinkStatus[] = [];
  /** Problems that the previous check found, by text: sessions need a moment after a start. */
  #before = new Set<string>();
  #problems: readonly Reason[] = [];
  #cancel: Cancel | undefined;

  constructor(node: string, components: LinkProblemsComponents) {
    this.#node = node;
    this.#components = components;
  }

  /** Begins to look at the links. */
  start(): void {
    this.#cancel ??= this.#later();
  }

  stop(): void {
    this.#cancel?.();
  }

  take(event: L2Event): void {
    if (event.kind === 'disputed') {
      const { address, interface: name, node: other } = event;
      this.#disputes.set(`${name} ${other}`, { address, interface: name, other, at: this.#components.clock.now() });
    }
    if (event.kind === 'disputed' || event.kind === 'isolated' || event.kind === 'rejoined') void this.#read(false);
  }

  problems(): readonly Reason[] {
    return this.#problems;
  }

  #later(): Cancel {
    return this.#components.clock.after(limits.linkProblemMilliseconds, () => {
      void this.#read(true);
      this.#components.onLook?.();
      this.#cancel = this.#later();
    });
  }

  async #read(isRegular: boolean): Promise<void> {
    this.#links = (await this.#components.status())?.links ?? [];
    const lasting = this.#links.flatMap((link) => this.#lastingProblems(link));
    const seen = [
      ...this.#links.flatMap((link) => this.#isolation(link)),
      ...lasting.filter((one) => this.#before.has(JSON.stringify(one))),
      ...this.#troubles(),
      ...this.#disputed(),
    ];
    if (isRegular) this.#before = new Set(lasting.map((one) => JSON.stringify(one)));
    if (JSON.stringify(seen) === JSON.stringify(this.#problems)) return;
    this.#problems = seen;
    this.#components.onChanged();
  }

  #isolation({ interface: name, isolated, peers }: LinkStatus): Reason[] {
    const others = peers.filter(({ session }) => session !== undefined).length;
    return isolated ? [reason('L2Isolated', { node: this.#node, interface: name, others })] : [];
  }

  #lastingProblems(link: LinkStatus): Reason[] {
    if (link.problem === undefined) return this.#livenessProblems(link);
    return [reason('L2NoSocket', { node: this.#node, interface: link.interface, error: link.problem })];
  }

  #livenessProblems({ interface: name, noPeerLiveness, peers }: LinkStatus): Reason[] {
    const { snapshot, clock } = this.#components;
    const now = clock.date().getTime();
    // A node that does not run has no session either.
    const runs = (node: string): boolean => runningReport(snapshot().nodeStates, node, now) !== undefined;
    if (noPeerLiveness && peers.some(({ node }) => runs(node))) return [reason('L2NoPeerLiveness', { node: this.#node, interface: name })];
    return peers
      .filter(({ answersWithoutSession }) => answersWithoutSession)
      .map(({ node: other }) => reason('L2PeerWithoutBFD', { node: this.#node, interface: name, other }));
  }

  /** An interface may be below several links. */
  #troubles(): Reason[] {
    const { snapshot, hostLinks } = this.#components;
    const promiscuous = isPromiscuous(snapshot().l2Advertisements.values());
    const found = this.#links.flatMap((link) => linkTroubles(this.#node, link.interface, hostLinks(), promiscuous));
    const named = [...snapshot().l2Advertisements.values()].flatMap(({ interfaces }) => interfaces);
    const own = snapshot().nodes.get(this.#node)?.internalIPs ?? [];
    const cut = linksWithoutCarrier(this.#node, hostLinks(), new Set([...named, ...uplinksWith(hostLinks(), own)]));
    return [...new Map([...cut, ...found].map((one) => [JSON.stringify(one), one])).values()];
  }

  #disputed(): Reason[] {
    const oldest = this.#components.clock.now() - limits.disputeMilliseconds;
    for (const [key, { at }] of this.#disputes) if (at < oldest) this.#disputes.delete(key);
    return [...this.#disputes.values()].map(({ address, interface: name, other }) =>
      reason('L2Disputed', { node: this.#node, other, address, interface: name }),
    );
  }
}
