import { metricsOf } from '../declaration.ts';

const { counter, gauge } = metricsOf('agent');
const peer = 'name of the BGPPeer';
const family = 'ipv4 or ipv6';

export const bgpMetrics = {
  herald_bgp_session_up: gauge('Is 1 if the session is established, else 0.', { peer }),
  herald_bgp_session_state: gauge('The state of the session: 1 for the current state, 0 for the five others.', {
    peer,
    state: 'Idle, Connect, Active, OpenSent, OpenConfirm or Established',
  }),
  herald_bgp_session_info: gauge('Always 1; the labels identify the session. peer_asn is 0 until it is known.', {
    peer,
    address: 'of the peer',
    local_asn: 'ours',
    peer_asn: 'that of the peer',
  }),
  herald_bgp_session_since_timestamp_seconds: gauge('When the session entered its state.', { peer }),
  herald_bgp_session_held_back: gauge(
    'Is 1 while the session is held back because it went down too often; neither side starts it meanwhile.',
    { peer },
  ),
  herald_bgp_session_problem: gauge(
    'Is 1 while the session is down for this reason, or is established without something that its BGPPeer asks for (`BFDDown`, `PeerFamilyNotNegotiated`, `PeerGracefulRestartNotNegotiated`).',
    { peer, reason: 'code of [reasons.md](reasons.md)' },
  ),
  herald_bgp_session_established_total: counter('Times that the session came up.', { peer }),
  herald_bgp_session_flaps_total: counter('Times that the session went down after it had been up.', {
    peer,
    reason: 'received, sent, bfdDown, stopped, suspended, lost, holdTimerExpired, sendHoldTimerExpired, peerRestarted or collision',
  }),
  herald_bgp_connect_attempts_total: counter('Attempts to connect to the peer.', { peer }),
  herald_bgp_messages_total: counter('BGP messages.', {
    peer,
    direction: 'sent or received',
    type: 'open, update, notification, keepalive or routeRefresh',
  }),
  herald_bgp_notifications_total: counter('NOTIFICATIONs; for a Hard Reset the one that it carries.', {
    peer,
    direction: 'sent or received',
    name: 'in the words of the RFCs: "Cease: Administrative Shutdown (6/2)"',
  }),
  herald_bgp_prefixes_advertised: gauge('Prefixes that the peer has from us.', { peer, family }),
  herald_bgp_prefixes_received: gauge(
    'Announcements received in this session. Without `import` of the BGPPeer they are counted and not used.',
    { peer, family },
  ),
  herald_bgp_received_routes: gauge(
    'Routes of the peer that `import` of its BGPPeer accepts: all of them (accepted), those of a peer that restarts (stale), those in the kernel (installed). Absent without `import`.',
    { peer, family, state: 'accepted, stale or installed' },
  ),
  herald_bgp_received_routes_refused: gauge(
    'Announcements of the peer in this session that were not accepted, by reason. Absent without `import`.',
    { peer, reason: 'filter (its `import`), asSet, asLoop, originatorLoop, ownNextHop or routeLeak' },
  ),
  herald_bgp_prefixes_not_possible: gauge('Prefixes that the peer should have but the session cannot carry.', { peer }),
  herald_bgp_tolerated_faults_total: counter('Errors in received UPDATEs that the session survived (RFC 7606).', { peer }),
  herald_bgp_strangers_total: counter('Connections from addresses that are not peers; they were closed at once.'),
  herald_bfd_session_up: gauge('Is 1 if BFD with the peer is up, else 0.', { peer }),
  herald_bfd_session_ups_total: counter('Times that BFD came up.', { peer }),
  herald_bfd_session_flaps_total: counter('Times that BFD went down after it had been up, except when we shut it down.', { peer }),
  herald_bfd_packets_total: counter('BFD control packets.', { peer, direction: 'sent or received' }),
  herald_bfd_discarded_packets_total: counter('BFD packets that belong to no session.', {
    reason: 'unknownSession, source, or the error in the packet',
  }),
};
