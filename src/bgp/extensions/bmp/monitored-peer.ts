import type { Address, Family } from '../../../net/address.ts';
import type { Clock } from '../../../system/clock.ts';
import type { Problem } from '../../diagnosis/problem.ts';
import { bmpRoutesPerTurn } from '../../limits.ts';
import type { ReceivedRoute } from '../../rib/received/received-route.ts';
import { encodeNotification, type Notification } from '../../wire/notification.ts';
import { encodeOpen } from '../../wire/open.ts';
import { afiOf, encodeEndOfRib } from '../../wire/update.ts';
import { safi } from '../../wire/codes.ts';
import { octets, u16, u32 } from '../../wire/writer.ts';
import { bmpPeerDown, bmpStatistic } from '../../wire/bmp/bmp-codes.ts';
import { encodeBmpMessage, type BmpPeer, type BmpTlv } from '../../wire/bmp/bmp-message.ts';
import type { BmpView } from './bmp-options.ts';
import type { EstablishedSession } from '../../negotiation/established-session.ts';
import type { MonitoredSession, SessionWatcher } from '../../session/monitored-session.ts';
import { updatesOfChanges, updatesOfRoutes } from './post-policy-updates.ts';

/** Numbers of events of RFC 4271 8.1 for a session that ended without a NOTIFICATION. */
const event = { manualStop: 2, tcpConnectionFails: 18 } as const;

interface Components {
  readonly clock: Clock;
  readonly session: MonitoredSession;
  readonly views: readonly BmpView[];
  send(message: Uint8Array): void;
}

/** Reports one peer to a connected collector: its session, its changes, and its present routes in parts. */
export class MonitoredPeer implements SessionWatcher {
  readonly #components: Components;
  readonly #endWatch: () => void;
  /** The session that the collector knows of. */
  #up: EstablishedSession | undefined;
  /** Counts the sessions, so that the routes of an earlier one are not sent. */
  #sessions = 0;
  #isEnded = false;

  constructor(components: Components) {
    this.#components = components;
    this.#endWatch = components.session.watch(this);
  }

  end(): void {
    this.#isEnded = true;
    this.#endWatch();
  }

  established(): void {
    // A session that made way for another connection of the peer has no end of its own.
    this.down({ kind: 'collision' });
    this.#begin();
  }

  down(problem: Problem): void {
    const { reason, data } = peerDownOf(problem);
    if (this.#up === undefined) return;
    this.#send({ kind: 'peerDown', peer: this.#peer(false, false, false), reason, data });
    this.#up = undefined;
    this.#sessions++;
  }

  update(direction: 'received' | 'sent', message: Uint8Array): void {
    if (this.#up === undefined || !this.#has(direction === 'sent' ? 'adjRibOut' : 'adjRibInPre')) return;
    const twoOctets = !this.#up.negotiated.fourOctetAsn;
    this.#routes(direction === 'sent' ? this.#peer(true, true, twoOctets) : this.#peer(false, false, twoOctets), message);
  }

  routes(changes: Parameters<SessionWatcher['routes']>[0]): void {
    if (this.#up === undefined || !this.#has('adjRibInPost')) return;
    for (const update of updatesOfChanges(changes)) this.#routes(this.#peer(true, false, false), update);
  }

  endOfRib(family: Family): void {
    if (this.#up === undefined || !this.#hasPostPolicy) return;
    this.#routes(this.#peer(true, false, false), encodeEndOfRib(family));
  }

  /**
   * Tells the collector about a session that was there before it. Routes follow with `present`; those of the peer, as received, come again from
   * the peer itself.
   */
  beginPresent(): void {
    this.#begin();
    if (this.#up !== undefined && this.#has('adjRibInPre')) this.#components.session.requestRefresh();
  }

  /**
   * Sends the present routes, a part with each step, then End-of-RIB. Each part is read when it is sent, so that it is not older than a change
   * that was sent before.
   */
  *present(): Generator<void, void> {
    const session = this.#sessions;
    const isOver = (): boolean => this.#isEnded || this.#up === undefined || session !== this.#sessions;
    for (const family of this.#up?.negotiated.families ?? []) {
      if (this.#hasPostPolicy) {
        const routes = this.#components.session.received(family)[Symbol.iterator]();
        for (;;) {
          if (isOver()) return;
          const part = take(routes, bmpRoutesPerTurn);
          for (const update of updatesOfRoutes(part)) this.#routes(this.#peer(true, false, false), update);
          if (part.length < bmpRoutesPerTurn) break;
          yield;
        }
        this.#routes(this.#peer(true, false, false), encodeEndOfRib(family));
        yield;
      }
      if (this.#has('adjRibOut')) {
        let from: number | undefined = 0;
        while (from !== undefined) {
          if (isOver() || this.#up === undefined) return;
          const { updates, next }: { readonly updates: readonly Uint8Array[]; readonly next: number | undefined } =
            this.#components.session.advertised(family, from, bmpRoutesPerTurn);
          for (const update of updates) this.#routes(this.#peer(true, true, !this.#up.negotiated.fourOctetAsn), update);
          from = next;
          yield;
        }
        if (isOver() || this.#up === undefined) return;
        this.#routes(this.#peer(true, true, !this.#up.negotiated.fourOctetAsn), encodeEndOfRib(family));
      }
    }
  }

  sendStatistics(): void {
    if (this.#up === undefined) return;
    const statistics = statisticsOf(this.#components.session, this.#up.negotiated.families);
    this.#send({ kind: 'statisticsReport', peer: this.#peer(false, false, false), statistics });
  }

  get #hasPostPolicy(): boolean {
    return this.#has('adjRibInPost') && this.#components.session.receivedStatus() !== undefined;
  }

  #has(view: BmpView): boolean {
    return this.#components.views.includes(view);
  }

  #begin(): void {
    const up = this.#components.session.established();
    if (up === undefined || this.#up !== undefined) return;
    const { localAddress, localPort, remotePort, opens } = up;
    if (opens.sent === undefined || opens.received === undefined) return;
    this.#up = up;
    this.#send({
      kind: 'peerUp',
      peer: this.#peer(false, false, false),
      localAddress: localAddress ?? unspecified(up.remoteAddress),
      localPort,
      remotePort,
      sentOpen: encodeOpen(opens.sent),
      receivedOpen: encodeOpen(opens.received),
      information: [],
    });
  }

  #routes(peer: BmpPeer, update: Uint8Array): void {
    this.#send({ kind: 'routeMonitoring', peer, update });
  }

  #send(message: Parameters<typeof encodeBmpMessage>[0]): void {
    this.#components.send(encodeBmpMessage(message));
  }

  #peer(postPolicy: boolean, adjRibOut: boolean, twoOctetAsPath: boolean): BmpPeer {
    const { negotiated, remoteAddress } = this.#up ?? {};
    return {
      address: remoteAddress ?? { family: 4, value: 0n },
      asn: negotiated?.peerAsn ?? 0,
      routerId: negotiated?.peerRouterId ?? 0,
      postPolicy,
      twoOctetAsPath,
      adjRibOut,
      at: this.#components.clock.date().getTime(),
    };
  }
}

const unspecified = (like: Address | undefined): Address => ({ family: like?.family ?? 4, value: 0n });

function take(routes: Iterator<ReceivedRoute>, most: number): ReceivedRoute[] {
  const taken: ReceivedRoute[] = [];
  while (taken.length < most) {
    const next = routes.next();
    if (next.done === true) break;
    taken.push(next.value);
  }
  return taken;
}

/** Returns why a session ended (RFC 7854 4.9). */
function peerDownOf(problem: Problem): { readonly reason: number; readonly data: Uint8Array } {
  const withPdu = (reason: number, notification: Notification): { readonly reason: number; readonly data: Uint8Array } => ({
    reason,
    data: encodeNotification(notification),
  });
  const byEvent = (number: number): { readonly reason: number; readonly data: Uint8Array } => ({
    reason: bmpPeerDown.localEvent,
    data: octets(u16(number)),
  });
  switch (problem.kind) {
    case 'received':
      return withPdu(bmpPeerDown.remoteNotification, problem.notification);
    case 'sent':
    case 'stopped':
      return withPdu(bmpPeerDown.localNotification, problem.notification);
    case 'suspended':
      return byEvent(event.manualStop);
    case 'holdTimerExpired':
    case 'sendHoldTimerExpired':
    case 'connectFailed':
    case 'connectTimeout':
    case 'collision':
      return byEvent(event.tcpConnectionFails);
    case 'lost':
    case 'peerRestarted':
      return { reason: bmpPeerDown.remoteClosed, data: octets() };
  }
}

function statisticsOf(session: MonitoredSession, families: readonly Family[]): BmpTlv[] {
  const counter = (type: number, value: number): BmpTlv => ({ type, value: octets(u32(value >>> 0)) });
  const gauge = (type: number, value: number): BmpTlv => ({ type, value: u64(value) });
  const ofFamily = (type: number, family: Family, value: number): BmpTlv => ({
    type,
    value: octets(u16(afiOf(family)), safi.unicast, u64(value)),
  });
  const received = session.receivedStatus();
  const accepted = (family: Family): number => received?.accepted[family === 4 ? 'ipv4' : 'ipv6'] ?? 0;
  const sum = (count: (family: Family) => number): number => families.reduce((total, family) => total + count(family), 0);
  const advertised = (family: Family): number => session.advertisedCount(family);
  return [
    ...(received === undefined
      ? []
      : [
          counter(bmpStatistic.rejected, received.refused.filter ?? 0),
          counter(bmpStatistic.invalidatedByAsPathLoop, received.refused.asLoop ?? 0),
          counter(bmpStatistic.invalidatedByOriginatorId, received.refused.originatorLoop ?? 0),
          gauge(bmpStatistic.adjRibIn, sum(accepted)),
          ...families.map((family) => ofFamily(bmpStatistic.adjRibInOfFamily, family, accepted(family))),
        ]),
    gauge(bmpStatistic.adjRibOutPostPolicy, sum(advertised)),
    ...families.map((family) => ofFamily(bmpStatistic.adjRibOutPostPolicyOfFamily, family, advertised(family))),
  ];
}

const u64 = (value: number): Uint8Array => octets(u32(Math.floor(value / 0x1_0000_0000)), u32(value >>> 0));
