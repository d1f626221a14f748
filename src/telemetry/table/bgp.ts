import type { MetricTable } from '../declaration.ts';

const peer = 'name of the BGPPeer';
const family = 'ipv4 or ipv6';

export const bgpMetrics = {
  herald_bgp_session_up: {
    type: 'gauge',
    help: 'Is 1 if the session is established, else 0.',
    labels: { peer },
    of: 'agent',
  },
  herald_bgp_session_state: {
    type: 'gauge',
    help: 'The state of the session: 1 for the current state, 0 for the five others.',
    labels: { peer, state: 'Idle, Connect, Active, OpenSent, OpenConfirm or Established' },
    of: 'agent',
  },
  herald_bgp_session_info: {
    type: 'gauge',
    help: 'Always 1; the labels identify the session. peer_asn is 0 until it is known.',
    labels: { peer, address: 'of the peer', local_asn: 'ours', peer_asn: 'that of the peer' },
    of: 'agent',
  },
  herald_bgp_session_since_timestamp_seconds: {
    type: 'gauge',
    help: 'When the session entered its state.',
    labels: { peer },
    of: 'agent',
  },
  herald_bgp_session_held_back: {
    type: 'gauge',
    help: 'Is 1 while the session is held back because it went down too often; neither side starts it meanwhile.',
    labels: { peer },
    of: 'agent',
  },
  herald_bgp_session_problem: {
    type: 'gauge',
    help: 'Is 1 while the session is down for this reason, or is established without something that its BGPPeer asks for (`BFDDown`, `PeerFamilyNotNegotiated`).',
    labels: { peer, reason: 'code of [reasons.md](reasons.md)' },
    of: 'agent',
  },
  herald_bgp_session_established_total: {
    type: 'counter',
    help: 'Times that the session came up.',
    labels: { peer },
    of: 'agent',
  },
  herald_bgp_session_flaps_total: {
    type: 'counter',
    help: 'Times that the session went down after it had been up.',
    labels: {
      peer,
      reason: 'received, sent, bfdDown, stopped, suspended, lost, holdTimerExpired, sendHoldTimerExpired, peerRestarted or collision',
    },
    of: 'agent',
  },
  herald_bgp_connect_attempts_total: {
    type: 'counter',
    help: 'Attempts to connect to the peer.',
    labels: { peer },
    of: 'agent',
  },
  herald_bgp_messages_total: {
    type: 'counter',
    help: 'BGP messages.',
    labels: { peer, direction: 'sent or received', type: 'open, update, notification, keepalive or routeRefresh' },
    of: 'agent',
  },
  herald_bgp_notifications_total: {
    type: 'counter',
    help: 'NOTIFICATIONs; for a Hard Reset the one that it carries.',
    labels: { peer, direction: 'sent or received', name: 'in the words of the RFCs: "Cease: Administrative Shutdown (6/2)"' },
    of: 'agent',
  },
  herald_bgp_prefixes_advertised: {
    type: 'gauge',
    help: 'Prefixes that the peer has from us.',
    labels: { peer, family },
    of: 'agent',
  },
  herald_bgp_prefixes_received: {
    type: 'gauge',
    help: 'Announcements received in this session. Without `import` of the BGPPeer they are counted and not used.',
    labels: { peer, family },
    of: 'agent',
  },
  herald_bgp_received_routes: {
    type: 'gauge',
    help: 'Routes of the peer that `import` of its BGPPeer accepts: all of them (accepted), those of a peer that restarts (stale), those in the kernel (installed). Absent without `import`.',
    labels: { peer, family, state: 'accepted, stale or installed' },
    of: 'agent',
  },
  herald_bgp_received_routes_refused: {
    type: 'gauge',
    help: 'Announcements of the peer in this session that were not accepted, by reason. Absent without `import`.',
    labels: { peer, reason: 'filter (its `import`), asSet, asLoop, originatorLoop, ownNextHop or routeLeak' },
    of: 'agent',
  },
  herald_bgp_prefixes_not_possible: {
    type: 'gauge',
    help: 'Prefixes that the peer should have but the session cannot carry.',
    labels: { peer },
    of: 'agent',
  },
  herald_bgp_tolerated_faults_total: {
    type: 'counter',
    help: 'Errors in received UPDATEs that the session survived (RFC 7606).',
    labels: { peer },
    of: 'agent',
  },
  herald_bgp_strangers_total: {
    type: 'counter',
    help: 'Connections from addresses that are not peers; they were closed at once.',
    labels: {},
    of: 'agent',
  },
  herald_bfd_session_up: {
    type: 'gauge',
    help: 'Is 1 if BFD with the peer is up, else 0.',
    labels: { peer },
    of: 'agent',
  },
  herald_bfd_session_ups_total: {
    type: 'counter',
    help: 'Times that BFD came up.',
    labels: { peer },
    of: 'agent',
  },
  herald_bfd_session_flaps_total: {
    type: 'counter',
    help: 'Times that BFD went down after it had been up, except when we shut it down.',
    labels: { peer },
    of: 'agent',
  },
  herald_bfd_packets_total: {
    type: 'counter',
    help: 'BFD control packets.',
    labels: { peer, direction: 'sent or received' },
    of: 'agent',
  },
  herald_bfd_discarded_packets_total: {
    type: 'counter',
    help: 'BFD packets that belong to no session.',
    labels: { reason: 'unknownSession, source, or the error in the packet' },
    of: 'agent',
  },
} as const satisfies MetricTable;
