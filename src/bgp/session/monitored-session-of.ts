import type { EstablishedSession } from '../negotiation/established-session.ts';
import type { AdjRibOut } from '../rib/adj-rib-out.ts';
import { watchSession, type MonitoredSession } from '../trace/bmp/monitored-session.ts';
import type { Session } from './session.ts';

/** Returns a session as the export of routes to a collector sees it. */
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
