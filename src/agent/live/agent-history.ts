import type { Peer } from '../../bgp/index.ts';
import type { QuarantinedFrontend } from '../../dataplane/dataplane.ts';
import { withGracefulShutdownAttributes } from '../../decisions/announcement/last-resort.ts';
import { linkBandwidthText } from '../../decisions/announcement/next-hops/link-bandwidth.ts';
import type { RouteIntent } from '../../decisions/announcement/route.ts';
import { serviceDependsOn, sessionDependsOn } from '../../decisions/decision-inputs.ts';
import type { HistoryRoute } from '../../live/contract.ts';
import { RecentChanges } from '../../live/recent-changes.ts';
import type { History, NamedHistoryEntry } from '../../live/history.ts';
import { limits } from '../../live/limits.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { NodeDrainReport } from '../../model/objects/node-state.ts';
import { reasonText, type Reason } from '../../model/reasons.ts';
import { sameContent } from '../../model/store/same-content.ts';
import type { Change, Snapshot } from '../../model/store/snapshot.ts';
import { formatPrefix } from '../../net/prefix.ts';
import type { Clock } from '../../system/clock.ts';
import { TimeSlice } from '../../system/time-slice.ts';
import type { RoutesByPeer, WhyWithdrawn } from '../reconcile/announced-routes.ts';
import { programmedText, sameForwarding, type ForwardingChange } from '../reconcile/forwarding-change.ts';
import { RouteGroup } from './route-group.ts';

/** Records what happens to Services and sessions in the history of the process. A Service that does not change has no entry. */
export class AgentHistory {
  readonly #history: History;
  readonly #node: string;
  readonly #causes: RecentChanges;
  readonly #clock: Clock;
  readonly #drained: DrainedRoutes;
  /** The position in the recent changes when the running pass began. */
  #passPosition: number | undefined;
  /** Services whose latest forwarding the kernel does not have yet. */
  #unprogrammed = new Map<ServiceKey, ForwardingChange>();
  readonly #refused = new Map<ServiceKey, string>();

  constructor(history: History, clock: Clock, node: string) {
    this.#history = history;
    this.#node = node;
    this.#clock = clock;
    this.#drained = new DrainedRoutes();
    this.#causes = new RecentChanges(clock, {
      ofService: (key, versions, snapshot) => {
        const service = snapshot.services.get(key);
        return service !== undefined && serviceDependsOn(snapshot, service, versions, node);
      },
      ofPeer: (peer, versions, snapshot) => sessionDependsOn(snapshot, peer, versions, node),
    });
  }

  /** Remembers the objects with which the agent starts. */
  startFrom(snapshot: Snapshot): void {
    this.#causes.startFrom(snapshot);
  }

  recordChanges(changes: readonly Change[], snapshot: Snapshot): void {
    this.#causes.recordChanges(changes, snapshot);
  }

  passStarted(): void {
    this.#passPosition = this.#causes.position;
  }

  /** `done`: the Services of a successful pass; undefined after a failed one. */
  passEnded(done: Iterable<ServiceKey> | undefined, snapshot: Snapshot): void {
    this.#recordDrained();
    if (done !== undefined && this.#passPosition !== undefined) {
      const services = [...done];
      this.#causes.markReconciled(services, this.#passPosition);
      for (const service of services) if (!snapshot.services.has(service)) this.#history.markDeleted('Service', service);
    }
    this.#passPosition = undefined;
  }

  readonly routesChanged = (service: ServiceKey, before: RoutesByPeer, after: RoutesByPeer, why: WhyWithdrawn | undefined): void => {
    if (sameRoutes(before, after)) return;
    const [announced, withdrawn, changed] = [new RouteGroup(), new RouteGroup(), new RouteGroup()];
    for (const peer of new Set([...before.keys(), ...after.keys()])) {
      const then = new Map((before.get(peer) ?? []).map((route) => [formatPrefix(route.prefix), route]));
      for (const route of after.get(peer) ?? []) {
        const prefix = formatPrefix(route.prefix);
        const earlier = then.get(prefix);
        then.delete(prefix);
        if (earlier === undefined) announced.addRoute(peer, prefix, route);
        else if (!sameRoute(earlier, route)) changed.addRoute(peer, prefix, route);
      }
      for (const [prefix, route] of then) withdrawn.addRoute(peer, prefix, route);
    }
    const whyGone = (peer: string, route: RouteIntent): Reason | undefined => why?.(peer, route);
    for (const { key: because, group } of withdrawn.groupBy(whyGone, (reason) =>
      reason === undefined ? '' : `${reason.code} ${reasonText(reason)}`,
    )) {
      const routes = group.toHistory();
      this.#record(service, { what: 'Withdrawn', text: 'withdrawn', reason: because, ...routes });
      if (because?.code === 'NodeDrained') this.#drained.add(service, routes);
    }
    if (!announced.isEmpty) this.#record(service, { what: 'Announced', text: 'announced', ...announced.toHistory() });
    for (const { key: attributes = 'several', group } of changed.groupBy((_, route) => attributesText(route), String))
      this.#record(service, { what: 'Changed', text: `announced with other attributes (${attributes}):`, ...group.toHistory() });
  };

  /** Notes that the forwarding of a Service may have changed. */
  readonly servicePlanned = (service: ServiceKey, { before, after }: ForwardingChange): void => {
    const first = this.#unprogrammed.get(service)?.before ?? before;
    if (sameForwarding(first, after)) this.#unprogrammed.delete(service);
    else this.#unprogrammed.set(service, { before: first, after });
  };

  /** Called when the kernel has all that was planned. Lets other work run in between. `refused`: where a refusal began or ended. */
  async forwardingCommitted(refused: Iterable<ServiceKey>, quarantined: ReadonlyMap<string, QuarantinedFrontend>): Promise<void> {
    const committed = this.#unprogrammed;
    // A Service that is planned while this one yields waits for the next commit.
    this.#unprogrammed = new Map();
    const slice = new TimeSlice(this.#clock);
    for (const [service, change] of committed) {
      const what = change.after.frontends.length === 0 ? 'Removed' : 'Programmed';
      this.#record(service, { what, text: programmedText(change) });
      if (slice.isUsedUp) await slice.yield();
    }
    for (const service of refused) this.#recordRefusal(service, quarantined);
  }

  /** Records the sessions with a peer until the peer is removed. */
  recordSessionsOf(peer: Peer): void {
    const record = (what: 'SessionUp' | 'SessionDown', text: string): void =>
      this.#history.record('BGPPeer', peer.name, { what, text: shortened(text), causes: this.#causes.causesOfPeer(peer.name) });
    peer.on('established', () => {
      const { address, peerAsn } = peer.status();
      record('SessionUp', `session established with ${address}, AS ${peerAsn}`);
    });
    peer.on('down', ({ reason }) => record('SessionDown', reason));
  }

  /** Called when the drain of the node begins, ends or enters another phase. Undefined: there is none any more. */
  readonly drainChanged = (drain: NodeDrainReport | undefined): void => {
    this.#recordDrained();
    this.#history.record('Node', this.#node, { ...drainEntry(drain), causes: this.#causes.causesOfNode(this.#node) });
  };

  /** Records the routes that a drain has withdrawn since the last call, of all Services together. */
  #recordDrained(): void {
    const { services, routes, moreRoutes, count } = this.#drained.take();
    if (count === 0) return;
    const text = `${count} routes of ${services} Services withdrawn by the drain:`;
    this.#history.record('Node', this.#node, { what: 'Withdrawn', text, routes, ...(moreRoutes === 0 ? {} : { moreRoutes }) });
  }

  /** Called when the node no longer has the peer. */
  peerRemoved(peer: string, why: string): void {
    this.#history.record('BGPPeer', peer, { what: 'SessionDown', text: why, causes: this.#causes.causesOfPeer(peer) });
    this.#history.markDeleted('BGPPeer', peer);
  }

  #recordRefusal(service: ServiceKey, quarantined: ReadonlyMap<string, QuarantinedFrontend>): void {
    const error = [...quarantined].find(([, { services }]) => services.includes(service));
    const before = this.#refused.get(service);
    if (error === undefined) {
      this.#refused.delete(service);
      if (before !== undefined) this.#record(service, { what: 'Accepted', text: 'the kernel accepts all frontends now' });
      return;
    }
    const [frontend, { error: words, owner }] = error;
    const text =
      owner === undefined
        ? `the kernel refuses ${frontend}: ${words}`
        : `${frontend} belongs to Service ${owner}, whose rules the kernel has`;
    if (text === before) return;
    this.#refused.set(service, text);
    this.#record(service, { what: 'Refused', text });
  }

  #record(service: ServiceKey, entry: NamedHistoryEntry): void {
    const causes = this.#causes.causesOf(service, this.#passPosition);
    this.#history.record('Service', service, { ...entry, text: shortened(entry.text), causes });
  }
}

/** Counts the routes that a drain withdraws, and keeps the first of them. */
class DrainedRoutes {
  #routes: HistoryRoute[] = [];
  #count = 0;
  readonly #services = new Set<ServiceKey>();

  add(service: ServiceKey, { routes, moreRoutes = 0 }: { readonly routes: readonly HistoryRoute[]; readonly moreRoutes?: number }): void {
    this.#services.add(service);
    this.#count += routes.length + moreRoutes;
    this.#routes.push(...routes.slice(0, limits.routesOfEntry - this.#routes.length));
  }

  take(): { readonly services: number; readonly count: number; readonly routes: readonly HistoryRoute[]; readonly moreRoutes: number } {
    const [routes, count, services] = [this.#routes, this.#count, this.#services.size];
    this.#routes = [];
    this.#count = 0;
    this.#services.clear();
    return { services, count, routes, moreRoutes: count - routes.length };
  }
}

function drainEntry(drain: NodeDrainReport | undefined): NamedHistoryEntry {
  if (drain === undefined) return { what: 'DrainEnded', text: 'the drain has ended: the node announces again' };
  const { kept, connections } = drain;
  switch (drain.phase) {
    case 'Draining':
      return { what: 'Draining', text: 'drains: its routes are the last resort of routers before they are withdrawn' };
    case 'Settled':
      return { what: 'Settled', text: `${kept} Services keep their routes, because no other node announces them` };
    case 'Withdrawn':
      return { what: 'Withdrawn', text: 'no route is left' };
    case 'Drained': {
      const open = connections === undefined ? 'the number of open connections is not known' : `${connections} connections are open`;
      return { what: 'Drained', text: connections === 0 ? 'no connection is open any more' : `the deadline has passed, and ${open}` };
    }
  }
}

function attributesText(route: RouteIntent): string {
  const { communities, localPref, med, asPathPrepend, linkBandwidth } = withGracefulShutdownAttributes(route);
  return [
    `${communities.length} communities`,
    ...(localPref === undefined ? [] : [`localPref ${localPref}`]),
    ...(med === undefined ? [] : [`med ${med}`]),
    `own AS prepended ${asPathPrepend} times`,
    ...(linkBandwidth === undefined ? [] : [`link bandwidth ${linkBandwidthText(linkBandwidth)}`]),
    ...(route.lastResort === true ? ['as the last resort of routers'] : []),
  ].join(', ');
}

function shortened(text: string): string {
  return text.length <= limits.words ? text : `${text.slice(0, limits.words - 1)}…`;
}

/** Compares routes. Both lists are sorted by prefix. Quick for equal routes, the usual case. */
function sameRoutes(before: RoutesByPeer, after: RoutesByPeer): boolean {
  if (before.size !== after.size) return false;
  for (const [peer, routes] of after) {
    const then = before.get(peer);
    if (then === undefined || then.length !== routes.length) return false;
    if (!routes.every((route, index) => sameRoute(route, then[index]))) return false;
  }
  return true;
}

/** An aggregate is known by its prefix. */
function sameRoute(a: RouteIntent, b: RouteIntent | undefined): boolean {
  return b !== undefined && sameContent({ ...a, aggregate: undefined }, { ...b, aggregate: undefined });
}
