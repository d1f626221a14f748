import type { Family } from '../../net/address.ts';
import type { Problem } from '../diagnosis/problem.ts';
import type { PeerEvents } from '../diagnosis/events.ts';
import type { EstablishedSession } from '../negotiation/established-session.ts';
import type { ReceivedRoute, RouteChange } from '../rib/received/received-route.ts';
import type { ReceivedStatus } from '../rib/received/received-routes.ts';
import type { BgpComponents } from '../options/components.ts';
import type { AdjRibOut, AdvertisedUpdates } from '../rib/adj-rib-out.ts';
import type { Tap } from '../trace/tap.ts';
import { messageType } from '../wire/codes.ts';
import type { Session } from './session.ts';

/** Called by the session in the turn of the event. */
export interface SessionWatcher {
  established(): void;
  down(problem: Problem): void;
  /** An UPDATE was received or sent. The octets are not written to again. */
  update(direction: 'received' | 'sent', message: Uint8Array): void;
  routes(changes: readonly RouteChange[]): void;
  endOfRib(family: Family): void;
}

/** The session of one peer, for an extension such as the export of its routes. */
export interface MonitoredSession {
  /** Undefined while the session is not established. */
  established(): EstablishedSession | undefined;
  /** Calls the watcher from now on. The returned function ends that. */
  watch(watcher: SessionWatcher): () => void;
  /** Yields the accepted routes; none without import rules. */
  received(family: Family): Iterable<ReceivedRoute>;
  /** Undefined without import rules. */
  receivedStatus(): ReceivedStatus | undefined;
  /** Encodes at most so many of the routes that the peer has now. */
  advertised(family: Family, from: number, most: number): AdvertisedUpdates;
  advertisedCount(family: Family): number;
  /** Asks the peer to send its routes again, if it offers that (RFC 2918). */
  requestRefresh(): void;
}

/** A part of a speaker that not every program needs, from a module of its own. It belongs to one speaker. */
export interface SpeakerExtension {
  /** Called when the speaker is created, before it has peers. Throws SpeakerError. */
  start(components: Omit<BgpComponents, 'store'>): void;
  peerAdded(name: string, session: MonitoredSession): void;
  /** Called when the session has ended. */
  peerRemoved(name: string): void;
  /** Called when the speaker stops and all sessions have ended. The speaker waits until it resolves. */
  stop(): Promise<void>;
}

/** Returns a session as extensions see it. */
export function monitoredSessionOf(session: Session, rib: AdjRibOut): MonitoredSession {
  const { events, tap, inbox, outbox } = session;
  return {
    established: () => establishedSessionOf(session),
    watch: (watcher) => watchSession(events, tap, watcher),
    received: (family) => inbox.received(family),
    receivedStatus: () => inbox.routes?.status(),
    advertised: (family, from, most) =>
      outbox.format === undefined ? { updates: [], next: undefined } : rib.advertisedUpdates(outbox.format, family, from, most),
    advertisedCount: (family) => rib.advertised(family),
    requestRefresh: () => inbox.requestRefresh(),
  };
}

function establishedSessionOf({ established }: Session): EstablishedSession | undefined {
  const negotiated = established?.state.negotiated;
  if (established === undefined || negotiated === undefined) return undefined;
  const { localAddress, remoteAddress, opens, connection } = established;
  const endpoints = connection?.endpoints?.();
  const ports = { localPort: endpoints?.local.port ?? 0, remotePort: endpoints?.remote.port ?? 0 };
  return { negotiated, localAddress, remoteAddress, opens, ...ports };
}

/** Connects a watcher to the events and messages of a session. The returned function ends that. */
function watchSession(events: PeerEvents, tap: Tap, watcher: SessionWatcher): () => void {
  const ends = [
    events.on('established', () => watcher.established()),
    events.on('down', ({ problem }) => watcher.down(problem)),
    events.on('routes', ({ changes }) => watcher.routes(changes)),
    events.on('endOfRib', ({ family }) => watcher.endOfRib(family)),
    tap.watch((event) => {
      if (event.type === 'message' && event.octets[18] === messageType.update) watcher.update(event.direction, event.octets);
    }),
  ];
  return () => {
    for (const end of ends) end();
  };
}
