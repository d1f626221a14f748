import type { ManagerStatus } from '../../bfd/index.ts';
import type { Peer, PerFamily, Speaker } from '../../bgp/index.ts';
import { sessionStates, type SessionStatus } from '../../model/objects/node-state.ts';
import type { Put, Metrics } from '../../telemetry/metrics.ts';
import { limits } from '../limits.ts';

interface BgpMetricsSources {
  readonly speaker: Speaker;
  /** Returns the status of all peers, including refused ones. */
  readonly sessions: () => readonly SessionStatus[];
  /** Returns the number of routes of a peer that are in the kernel. */
  readonly installedRoutes: (peer: string) => PerFamily;
  /** Undefined: no peer has BFD. */
  readonly bfd: () => Promise<ManagerStatus> | undefined;
}

const ofSessions = [
  'herald_bgp_session_up',
  'herald_bgp_session_state',
  'herald_bgp_session_info',
  'herald_bgp_session_since_timestamp_seconds',
  'herald_bgp_session_held_back',
  'herald_bgp_session_problem',
] as const;
const ofPeers = [
  'herald_bgp_session_established_total',
  'herald_bgp_session_flaps_total',
  'herald_bgp_connect_attempts_total',
  'herald_bgp_messages_total',
  'herald_bgp_notifications_total',
  'herald_bgp_prefixes_advertised',
  'herald_bgp_prefixes_received',
  'herald_bgp_received_routes',
  'herald_bgp_received_routes_refused',
  'herald_bgp_prefixes_not_possible',
  'herald_bgp_tolerated_faults_total',
  'herald_bgp_strangers_total',
] as const;
const ofBfd = [
  'herald_bfd_session_up',
  'herald_bfd_session_ups_total',
  'herald_bfd_session_flaps_total',
  'herald_bfd_packets_total',
  'herald_bfd_discarded_packets_total',
] as const;

const families = ['ipv4', 'ipv6'] as const;
/** A series that starts with its first flap would hide that flap from `increase()`, so these start at 0. */
const unflapped = { lost: 0, holdTimerExpired: 0, received: 0, sent: 0, bfdDown: 0, stopped: 0 };
const directions = ['sent', 'received'] as const;

/** Exposes the counters of the speaker and of BFD. Returns a function that ends this. */
export function exposeBgp(metrics: Metrics, { speaker, sessions, installedRoutes, bfd }: BgpMetricsSources): () => void {
  const ends = [
    metrics.addCollector('sessions', ofSessions, (put) => {
      for (const session of sessions().slice(0, limits.measuredPeers)) putSession(put, session);
    }),
    metrics.addCollector('bgp', ofPeers, (put) => {
      put('herald_bgp_strangers_total', {}, speaker.listening().strangers);
      for (const peer of speaker.peers.slice(0, limits.measuredPeers)) putPeer(put, peer, installedRoutes(peer.name));
    }),
    metrics.addCollector('bfd', ofBfd, async (put) => {
      const status = await bfd();
      if (status !== undefined) putBfd(put, status);
    }),
  ];
  return () => {
    for (const end of ends) end();
  };
}

function putSession(
  put: Put<(typeof ofSessions)[number]>,
  { peer, address, state: present, since, localASN, peerASN, damping, cause, warning }: SessionStatus,
): void {
  put('herald_bgp_session_up', { peer }, present === 'Established' ? 1 : 0);
  for (const state of sessionStates) put('herald_bgp_session_state', { peer, state }, state === present ? 1 : 0);
  put('herald_bgp_session_info', { peer, address, local_asn: String(localASN), peer_asn: String(peerASN) }, 1);
  put('herald_bgp_session_held_back', { peer }, damping?.until === undefined ? 0 : 1);
  for (const problem of [cause, warning]) if (problem !== undefined) put('herald_bgp_session_problem', { peer, reason: problem.code }, 1);
  // oxlint-disable-next-line no-restricted-globals -- reading a date from text is pure
  if (since !== '') put('herald_bgp_session_since_timestamp_seconds', { peer }, Date.parse(since) / 1000);
}

function putPeer(put: Put<(typeof ofPeers)[number]>, speakerPeer: Peer, installed: PerFamily): void {
  const { name: peer, counters, prefixesAdvertised, prefixesReceived, received, notPossibleCount } = speakerPeer.status();
  put('herald_bgp_session_established_total', { peer }, counters.established);
  for (const [reason, count] of Object.entries({ ...unflapped, ...counters.flapsBy }))
    put('herald_bgp_session_flaps_total', { peer, reason }, count);
  put('herald_bgp_connect_attempts_total', { peer }, counters.connectAttempts);
  put('herald_bgp_tolerated_faults_total', { peer }, counters.toleratedFaults);
  put('herald_bgp_prefixes_not_possible', { peer }, notPossibleCount);
  for (const family of families) {
    put('herald_bgp_prefixes_advertised', { peer, family }, prefixesAdvertised[family]);
    put('herald_bgp_prefixes_received', { peer, family }, prefixesReceived[family]);
    if (received === undefined) continue;
    const counts = { accepted: received.accepted, stale: received.stale, installed };
    for (const [state, count] of Object.entries(counts)) put('herald_bgp_received_routes', { peer, family, state }, count[family]);
  }
  for (const [reason, count] of Object.entries(received?.refused ?? {})) put('herald_bgp_received_routes_refused', { peer, reason }, count);
  for (const direction of directions) {
    for (const [type, count] of Object.entries(counters[direction])) put('herald_bgp_messages_total', { peer, direction, type }, count);
    for (const [name, count] of Object.entries(counters.notifications[direction]))
      put('herald_bgp_notifications_total', { peer, direction, name }, count);
  }
}

function putBfd(put: Put<(typeof ofBfd)[number]>, { sessions, discards }: ManagerStatus): void {
  for (const { name: peer, state, counters } of sessions.slice(0, limits.measuredPeers)) {
    put('herald_bfd_session_up', { peer }, state === 'Up' ? 1 : 0);
    put('herald_bfd_session_ups_total', { peer }, counters.ups);
    put('herald_bfd_session_flaps_total', { peer }, counters.downs);
    for (const direction of directions) put('herald_bfd_packets_total', { peer, direction }, counters[direction]);
  }
  for (const [reason, count] of Object.entries(discards)) put('herald_bfd_discarded_packets_total', { reason }, count);
}
