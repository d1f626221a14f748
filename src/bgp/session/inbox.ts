import { isDeepStrictEqual } from 'node:util';
import type { Family } from '../../net/address.ts';
import type { Prefix } from '../../net/prefix.ts';
import type { Counters } from '../diagnosis/counters.ts';
import type { Problem } from '../diagnosis/problem.ts';
import type { PeerEvents } from '../diagnosis/events.ts';
import type { Negotiated } from '../negotiation/negotiate.ts';
import type { BgpComponents } from '../options/components.ts';
import type { ResolvedOptions } from '../options/peer-options.ts';
import { announcedAround, ContendingPaths, type ContendingPath, type PathOrigin } from '../rib/received/contending-paths.ts';
import type { AdjRibOut } from '../rib/adj-rib-out.ts';
import { PrefixCounts, tooManyPrefixes } from '../rib/received/prefix-counts.ts';
import { routerIdAddress, type ReceivedRoute } from '../rib/received/received-route.ts';
import { ReceivedRoutes } from '../rib/received/received-routes.ts';
import { retentionOf, type Retention } from '../rib/received/retention.ts';
import { cease, errorCode, refreshSubtype, safi } from '../wire/codes.ts';
import type { Notification } from '../wire/notification.ts';
import { encodeRouteRefresh, type RouteRefresh } from '../wire/route-refresh.ts';
import { afiOf, familyOfAfi, type UpdateMessage } from '../wire/update.ts';
import type { ConnectionFsm } from './connection-fsm.ts';

interface Components extends Pick<BgpComponents, 'clock'> {
  readonly counters: Counters;
  readonly events: PeerEvents;
  /** Returns the established connection, if any. */
  established(): ConnectionFsm | undefined;
  readonly rib: Pick<AdjRibOut, 'advertisedPrefix'>;
  /** Called when the peer has another path for a prefix of ours, or has none any more. */
  readonly contended: () => void;
}

/** Takes the routes of a session: counts them and, with import rules, keeps those that the rules accept. */
export class Inbox {
  /** Prefixes that the peer has announced in this session. */
  counts = new PrefixCounts();
  #contending = new ContendingPaths();
  readonly #components: Components;
  #options: ResolvedOptions;
  /** Absent without import rules. */
  #routes: ReceivedRoutes | undefined;

  constructor(components: Components, options: ResolvedOptions) {
    this.#components = components;
    this.#options = options;
    this.configure(options);
  }

  get routes(): ReceivedRoutes | undefined {
    return this.#routes;
  }

  contendingPaths(counts: (origin: PathOrigin) => boolean): readonly ContendingPath[] {
    return this.#contending.contending((prefix) => this.#announces(prefix), counts);
  }

  /** Tells whether the peer has a route of ours for the prefix. */
  #announces(prefix: Prefix): boolean {
    return this.#components.rib.advertisedPrefix(prefix) !== undefined;
  }

  *received(family: Family): Generator<ReceivedRoute> {
    if (this.#routes !== undefined) yield* this.#routes.routes(family);
  }

  /** Applies changed options. Routes that the earlier rules refused are asked for again. */
  configure(options: ResolvedOptions): void {
    const before = this.#options.import;
    const { import: settings } = (this.#options = options);
    if (settings === undefined) {
      this.#routes?.clear();
      this.#routes = undefined;
    } else if (this.#routes === undefined) {
      const { clock, events } = this.#components;
      this.#routes = new ReceivedRoutes(clock, settings, (changes) => events.emit({ type: 'routes', changes }));
      const fsm = this.#components.established();
      if (fsm?.state.negotiated !== undefined) this.#beginRoutes(fsm, fsm.state.negotiated);
      this.requestRefresh();
    } else if (!isDeepStrictEqual(before, settings)) {
      this.#routes.configure(settings);
      this.requestRefresh();
    }
  }

  begin(fsm: ConnectionFsm, negotiated: Negotiated): void {
    this.counts = new PrefixCounts(this.#options.maximumPrefixes);
    this.#beginRoutes(fsm, negotiated);
  }

  receive(fsm: ConnectionFsm, update: UpdateMessage): void {
    const { counters, events, contended } = this.#components;
    const announces = (prefix: Prefix): boolean => this.#announces(prefix);
    counters.toleratedFaults += update.faults.length;
    const exceeded = this.counts.recordUpdate(update) ?? this.#routes?.apply(update);
    if (exceeded !== undefined) fsm.post({ type: 'fault', fault: tooManyPrefixes(exceeded) });
    if (this.#contending.take(update).some((prefix) => announcedAround(prefix, announces) !== undefined)) contended();
    if (update.endOfRib === undefined) return;
    this.#routes?.endOfRib(update.endOfRib);
    events.emit({ type: 'endOfRib', family: update.endOfRib });
  }

  /** Takes a marker of an enhanced refresh. */
  refreshMarker({ afi, safi: safiNumber, subtype }: RouteRefresh): void {
    const family = familyOfAfi(afi, safiNumber);
    if (family !== undefined) this.#routes?.refreshMarker(family, subtype);
  }

  end(problem: Problem): void {
    this.counts = new PrefixCounts();
    this.#contending = new ContendingPaths();
    this.#routes?.end((retention) => outlives(problem, retention));
  }

  /** Removes all routes, also those that would outlive the session. */
  clear(): void {
    this.#routes?.clear();
  }

  /** Asks the peer for all its routes, if it offers that (RFC 2918). */
  requestRefresh(): void {
    const fsm = this.#components.established();
    const { routeRefresh = false, families = [] } = fsm?.state.negotiated ?? {};
    if (!routeRefresh) return;
    for (const family of families) this.#sendRefresh(fsm, family);
  }

  #beginRoutes({ opens, localAddress, remoteAddress }: ConnectionFsm, negotiated: Negotiated): void {
    const { name, localAsn, routerId, address } = this.#options;
    const { peerAsn, peerRouterId, internal, peerRole, routeRefresh } = negotiated;
    const peerAddress = remoteAddress ?? address;
    if (this.#routes === undefined || peerAddress === undefined) return;
    const from = { peer: name, address: peerAddress, asn: peerAsn, routerId: routerIdAddress(peerRouterId), internal };
    const session = { from, localAsn, routerId, localAddress, peerRole, keepRefused: !routeRefresh };
    this.#routes.begin(session, retentionOf(negotiated, opens.received?.capabilities ?? []));
  }

  #sendRefresh(fsm: ConnectionFsm | undefined, family: Family): void {
    this.#components.counters.sent.routeRefresh++;
    fsm?.write(encodeRouteRefresh({ afi: afiOf(family), subtype: refreshSubtype.request, safi: safi.unicast }));
  }
}

/**
 * Tells whether the routes of a session outlive its end: if the connection was lost or the peer restarted (RFC 4724 4.2), and after a
 * NOTIFICATION of either side if both agreed on that (RFC 8538 4). Not after a Hard Reset, not if this side closed the session on purpose,
 * and not if the routes themselves were too many.
 */
function outlives(problem: Problem, { afterNotification }: Retention): boolean {
  switch (problem.kind) {
    case 'lost':
    case 'peerRestarted':
      return true;
    case 'holdTimerExpired':
    case 'sendHoldTimerExpired':
      return afterNotification;
    case 'received':
      return afterNotification && !isCease(problem.notification, cease.hardReset);
    case 'sent':
      return afterNotification && !isCease(problem.notification, cease.maximumPrefixes) && !isCease(problem.notification, cease.hardReset);
    case 'connectFailed':
    case 'connectTimeout':
    case 'stopped':
    case 'suspended':
    case 'collision':
      return false;
  }
}

const isCease = ({ code, subcode }: Notification, which: number): boolean => code === errorCode.cease && subcode === which;
