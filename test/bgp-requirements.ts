/**
 * What the BGP speaker promises, as numbered assertions. It stands among the tests because it says what they have to prove: a test that
 * proves one carries `BGP-` and the three digits of its number at the start of its name. scripts/write-rfc.ts makes docs/reference/rfc.md of
 * this list and of the names it finds, and test/unit/house/rfc.test.ts holds the three together.
 *
 * `met` is for what a numbered test proves in full. `partly` says what is missing.
 */
export interface Requirement {
  readonly number: number;
  /** One assertion; "N 1/2" is NOTIFICATION with code 1 and subcode 2. */
  readonly asserts: string;
  /** "4271 6.1": RFC and sections. Empty: no RFC demands it, but whoever operates a speaker does. */
  readonly sources: readonly string[];
  readonly status: Status;
}

export type Status = { readonly kind: 'met' } | { readonly kind: 'partly'; readonly missing: string } | { readonly kind: 'open' };

const met: Status = { kind: 'met' };
const partly = (missing: string): Status => ({ kind: 'partly', missing });

function requirement(number: number, asserts: string, sources: string, status: Status = met): Requirement {
  return { number, asserts, sources: sources === '' ? [] : sources.split('; '), status };
}

export const chapters: readonly { readonly title: string; readonly first: number; readonly last: number }[] = [
  { title: 'Framing and header', first: 1, last: 11 },
  { title: 'OPEN and capabilities', first: 12, last: 32 },
  { title: 'State machine and timers', first: 33, last: 55 },
  { title: 'Collision and listening', first: 56, last: 63 },
  { title: 'Errors in what we receive', first: 64, last: 85 },
  { title: 'What we send', first: 86, last: 106 },
];

export const requirements: readonly Requirement[] = [
  requirement(1, 'A marker that is not all ones ends the session with N 1/1.', '4271 4.1, 6.1'),
  requirement(2, 'A length below 19 ends it with N 1/2, whose data is the length field.', '4271 6.1'),
  requirement(3, 'A length above 4096 does so too unless both sides offered extended messages, from the header alone.', '4271 6.1; 8654 4'),
  requirement(4, 'A message whose length is impossible for its type ends it with N 1/2.', '4271 6.1; 7313 5'),
  requirement(5, 'An unknown type ends it with N 1/3, whose data is the type.', '4271 6.1'),
  requirement(6, 'OPEN and KEEPALIVE stay within 4096 octets, other types reach 65535 once extended messages are agreed on.', '8654 4'),
  requirement(7, 'Where only one side offers extended messages, neither sends one.', '8654 3, 4'),
  requirement(8, 'However the stream is cut into chunks, the same messages come out in the same order.', '4271 4'),
  requirement(9, 'The receive buffer never holds more than one message and one read.', ''),
  requirement(10, 'What follows a message that ended the session is not looked at.', '4271 6'),
  requirement(11, 'A malformed NOTIFICATION is never answered with one; it is logged.', '4271 6.4'),

  requirement(12, 'Another version than 4 is refused with N 2/1, whose data is 4 in two octets.', '4271 6.2'),
  requirement(
    13,
    'Another AS than configured is refused with N 2/2; "internal", "external" and "auto" judge by our own AS, and what was learned is shown.',
    '4271 6.2; 6793 4.1',
  ),
  requirement(14, 'AS 0, and AS_TRANS without the capability that tells the real number, are refused with N 2/2.', '7607 2; 6793 4.2.1'),
  requirement(15, 'Hold time 1 or 2 is refused with N 2/6, whose data is the value.', '4271 4.2, 6.2'),
  requirement(16, 'Hold time 0 is taken unless a minimum is configured; then neither hold timer nor keepalives run.', '4271 4.2, 4.4'),
  requirement(17, 'A negotiated hold time below the configured minimum is refused with N 2/6.', '4271 6.2'),
  requirement(18, 'Identifier 0.0.0.0 is refused with N 2/3; ours is refused inside one AS and taken between two.', '6286 2.1, 2.2'),
  requirement(19, 'An optional parameter of unknown type is refused with N 2/4.', '4271 6.2'),
  requirement(20, 'A parameter or capability that is longer than what holds it is refused with N 2/0.', '4271 6.2; 5492 4'),
  requirement(21, 'Capabilities may come in one parameter, in several, and more than once.', '5492 4'),
  requirement(22, 'An unknown capability is ignored.', '5492 3'),
  requirement(
    23,
    'A peer without capabilities gets IPv4 unicast with two-octet AS numbers: AS_TRANS in AS_PATH and the real number in AS4_PATH.',
    '5492 3; 4760 8; 6793 4.2.2',
  ),
  requirement(24, 'A multiprotocol or four-octet AS capability of the wrong length is refused with N 2/0.', '4760 8; 6793 3; 5492 4'),
  requirement(25, 'No address family in common is refused with N 2/7, whose data is the capabilities we want.', '5492 3, 5'),
  requirement(26, 'Extended optional parameters are understood, and sent only above 255 octets.', '9072 2'),
  requirement(27, 'After N 2/4 the next attempt leaves the optional parameters out.', '5492 3'),
  requirement(28, 'Roles that do not fit, or a missing role in strict mode, are refused with N 2/11.', '9234 4.2'),
  requirement(29, 'A malformed graceful restart capability counts as absent.', '4724 3; 5492 4'),
  requirement(30, 'Of the extended next hops only IPv4 unicast over IPv6 is acted upon.', '8950 4'),
  requirement(31, 'What either side offered and what both agreed on can be read in the status.', ''),
  requirement(32, 'The same configuration gives the same octets of OPEN.', ''),

  requirement(33, 'Six states; what each event does in each of them is written down, and nothing else happens.', '4271 8.2.2'),
  requirement(34, 'The first connection is attempted at once.', '4271 8.1.2, 8.2.2'),
  requirement(
    35,
    'A peer that is not there is tried again every 5 s, less up to a quarter; the pause doubles, up to 60 s, only after protocol errors.',
    '4271 8.1.1, 10',
  ),
  requirement(36, 'An attempt to connect ends after 10 s, whatever the kernel would do.', '4271 8.2.2'),
  requirement(37, 'A peer that connects and says nothing is given up after 4 minutes with N 4/0.', '4271 8.2.2'),
  requirement(
    38,
    'OPEN is answered with a KEEPALIVE; the hold time is the smaller one, and keepalives follow at a third of it, less up to a quarter.',
    '4271 4.2, 4.4, 8.2.2, 10',
  ),
  requirement(39, 'Established begins with the KEEPALIVE of the peer, not before.', '4271 8.2.2'),
  requirement(40, 'Every valid message proves that the peer lives.', '4271 8.2.2'),
  requirement(41, 'A peer that is silent for the hold time is given up with N 4/0, within a second.', '4271 6.5, 8.2.2'),
  requirement(42, 'A process that stood still reads what has arrived before it declares the peer silent.', '4271 6.5'),
  requirement(43, 'Keepalives get through amid a long burst of UPDATEs, and what is queued is bounded.', '4271 4.4'),
  requirement(44, 'A peer that lets nothing through for the send hold time is given up with N 8/0.', '9687 3'),
  requirement(45, 'A message that does not belong into the state ends the session with N 5/1, 5/2 or 5/3.', '4271 6.6; 6608 3, 4'),
  requirement(
    46,
    'A NOTIFICATION of the peer ends the session, is shown decoded, and makes us wait longer after 6/1 and 6/2.',
    '4271 6.4; 4486 4',
  ),
  requirement(47, 'FIN or RST ends the session at once.', '4271 8.2.2'),
  requirement(48, 'stop() sends N 6/2 with the text, then FIN, and resolves when the connection is closed.', '4486 3; 9003 2'),
  requirement(49, 'A NOTIFICATION reaches the peer although data of the peer was not read.', '4271 6'),
  requirement(50, 'All time is injected: no test of the protocol sleeps.', ''),
  requirement(51, 'Two sessions to one address, by other ports or interfaces, share no state.', ''),
  requirement(52, 'Flaps, the last error, uptime and messages by type are counted for each peer.', ''),
  requirement(53, 'A change of options resets the session, with N 6/6, only where the field demands it.', '4486 3, 4'),
  requirement(54, 'A new password applies with the next connection; a wrong one is seen in the counters of the kernel and said.', '2385 2'),
  requirement(55, 'A thousand starts and stops leak no descriptor, timer or listener.', ''),

  requirement(56, 'A connection from an unknown address is closed at once, counted, and logged rarely.', '4271 8.2.1'),
  requirement(57, 'Of two connections the one that the lower identifier opened is closed with N 6/7.', '4271 6.8; 4486 3'),
  requirement(58, 'With equal identifiers the larger AS keeps its connection.', '6286 2.3'),
  requirement(59, 'An established session is not replaced by a new connection.', '4271 6.8'),
  requirement(60, 'Unless the peer restarted: then the old connection goes silently and graceful restart begins.', '4724 5'),
  requirement(61, 'What an accepted connection sends first already has TTL 255 where GTSM is on.', '5082 3'),
  requirement(62, 'Collisions are judged by what OPEN says, never when TCP connects.', '4271 6.8'),
  requirement(63, 'A passive peer is never dialed, and who only dials never listens.', '4271 8.1.1'),

  requirement(64, 'Withdrawn routes or attributes that overrun the message end the session with N 3/1.', '4271 6.3'),
  requirement(65, 'A prefix that is too long or cut off ends it with N 3/10.', '4271 6.3; 7606 5.3'),
  requirement(66, 'Two MP_REACH_NLRI or MP_UNREACH_NLRI end it with N 3/1.', '7606 3'),
  requirement(67, 'MP_REACH_NLRI with a next hop of impossible length, or cut off, ends it.', '7606 7.11; 4760 7'),
  requirement(68, 'MP_UNREACH_NLRI that is cut off ends it with N 3/9.', '7606 7.12; 4760 7'),
  requirement(69, 'Errors that would withdraw routes end it where the message has no reachable route.', '7606 5.2'),
  requirement(70, 'A bad ORIGIN, or flags that do not fit the type, withdraw the routes of the message.', '7606 3, 7.1'),
  requirement(71, 'A missing ORIGIN, AS_PATH or NEXT_HOP withdraws them.', '7606 3'),
  requirement(72, 'A malformed AS_PATH, and AS 0 in one, withdraw them.', '7606 7.2; 7607 2'),
  requirement(73, 'A NEXT_HOP of the wrong length, or one that is no host, withdraws them.', '7606 7.3'),
  requirement(
    74,
    'MED, LOCAL_PREF, communities of every kind, ORIGINATOR_ID, CLUSTER_LIST and OTC of the wrong length withdraw them.',
    '7606 7.4, 7.5, 7.8, 7.9, 7.10, 7.14, 7.15; 8092 6; 9234 5',
  ),
  requirement(75, 'An attribute that overruns its block withdraws them where the routes can still be found.', '7606 4'),
  requirement(
    76,
    'ATOMIC_AGGREGATE, AGGREGATOR and AS4_AGGREGATOR of the wrong length are discarded, and so is what belongs inside an AS when it comes from outside.',
    '7606 7.5, 7.6, 7.7, 7.9, 7.10; 6793 6',
  ),
  requirement(77, 'Of an attribute that comes twice the first one counts.', '7606 3'),
  requirement(78, 'Unknown optional attributes are ignored.', '4271 5, 9'),
  requirement(79, 'An unknown well-known attribute withdraws the routes.', '7606 3'),
  requirement(80, 'Routes of a family that was not agreed on are ignored.', '4760 7'),
  requirement(81, 'Our own AS in AS_PATH, or a first AS that is not the peer, does not end the session.', '4271 6.3, 9.1.2; 7606 7.2'),
  requirement(82, 'End-of-RIB is recognised for each family.', '4724 2'),
  requirement(
    83,
    'ROUTE-REFRESH brings everything of the family again; unknown subtypes are ignored, a bad length is an error.',
    '2918 4; 7313 4, 5',
  ),
  requirement(84, 'No input makes the decoder throw, and its time grows with the length only.', ''),
  requirement(
    85,
    'Received routes are counted and not stored; a maximum ends the session with N 6/1 only where one is configured.',
    '4486 4',
  ),

  requirement(86, 'ORIGIN is always IGP, so that every node says the same.', '4271 5.1.1'),
  requirement(
    87,
    'Nodes differ in the next hop only: AS_PATH is our AS outside and empty inside, LOCAL_PREF is sent inside only, MED only when set.',
    '4271 5.1.2, 5.1.4, 5.1.5; 6793 4.2',
  ),
  requirement(
    88,
    'IPv4 routes have our address as next hop, over IPv6 in the extended form, and are not announced where no right one exists.',
    '4271 5.1.3; 8950 3',
  ),
  requirement(89, 'IPv6 routes come in MP_REACH_NLRI, first of the attributes, with one or two next hops.', '4760 3; 2545 3; 7606 5.1'),
  requirement(90, 'Withdrawals and End-of-RIB have the form of their family.', '4271 4.3; 4760 4; 4724 2'),
  requirement(91, 'Routes with equal attributes fill a message before the next one begins.', '4271 4.3'),
  requirement(92, 'No message is longer than agreed on, whatever the routes and attributes.', '4271 4.1; 8654 4'),
  requirement(93, 'Ten thousand withdrawals are spread over as many messages as they need.', '4271 4.1'),
  requirement(94, 'Withdrawals leave before announcements, and no message has a prefix in both.', '4271 4.3'),
  requirement(95, 'Setting the same routes sends nothing; what is taken back before it was sent is never sent.', '4271 9.2'),
  requirement(96, 'Other attributes are one announcement and no withdrawal.', '4271 3.1'),
  requirement(97, 'A new session gets everything and then End-of-RIB for each family, also when there is nothing.', '4271 9.2; 4724 2'),
  requirement(98, 'What changed while the session was down is merged, and nothing stale is announced.', '4271 9.2'),
  requirement(99, 'What nobody asked for is not sent, and nothing that is received reaches the kernel.', '8212 2'),
  requirement(100, 'Communities are sorted and sent once, however many there are.', '1997; 4360 2; 8092 3'),
  requirement(101, 'A drain announces GRACEFUL_SHUTDOWN, withdraws, then stops: one burst each.', '8326 4'),
  requirement(
    102,
    'A restarting speaker says so in its first OPEN only, keeps the forwarding bit honest, and sends End-of-RIB when its routes are complete.',
    '4724 4.1',
  ),
  requirement(
    103,
    'An upgrade closes the connection without NOTIFICATION, a shutdown sends N 6/2, or 6/9 where the peer would keep routes.',
    '4724 4.2; 8538 3',
  ),
  requirement(104, 'With the N bit a NOTIFICATION leaves routes in place; Hard Reset carries the real reason.', '8538 2, 3'),
  requirement(105, 'LLGR_STALE and NO_LLGR are passed on as configured.', '9494 4.6'),
  requirement(106, 'The first announcement leaves within 5 ms of Established, and a change within 5 ms.', ''),
];

export interface Rfc {
  readonly number: number;
  readonly title: string;
  /** What of it there is, in a few words; absent: everything that a speaker needs which only announces. */
  readonly extent?: string;
  /** For an RFC that no numbered requirement cites; the others have the status of their requirements. */
  readonly status?: Status;
}

export const rfcs: readonly Rfc[] = [
  { number: 4271, title: 'BGP-4' },
  { number: 4760, title: 'Multiprotocol extensions', extent: 'IPv4 and IPv6 unicast' },
  { number: 5492, title: 'Capabilities' },
  { number: 6793, title: 'Four-octet AS numbers' },
  { number: 6286, title: 'AS-wide unique identifier' },
  { number: 6608, title: 'Subcodes for state machine errors' },
  { number: 7606, title: 'Revised error handling' },
  { number: 7607, title: 'AS 0' },
  { number: 2918, title: 'Route refresh' },
  { number: 7313, title: 'Enhanced route refresh' },
  { number: 4724, title: 'Graceful restart', extent: 'as the one that restarts; there are no received routes to keep' },
  { number: 8538, title: 'NOTIFICATION with graceful restart', extent: 'as the one that restarts' },
  { number: 4486, title: 'Subcodes for Cease' },
  { number: 9003, title: 'Shutdown communication (replaces RFC 8203)' },
  {
    number: 9384,
    title: 'Cease for BFD Down',
    extent: 'name of the subcode, both ways; the speaker has no BFD yet',
    status: partly('BFD'),
  },
  { number: 9687, title: 'Send hold timer' },
  { number: 8654, title: 'Extended messages' },
  { number: 9072, title: 'Extended optional parameters' },
  { number: 8950, title: 'IPv4 routes over IPv6 next hops' },
  { number: 2545, title: 'IPv6 next hops' },
  { number: 1997, title: 'Communities' },
  { number: 4360, title: 'Extended communities', extent: 'any value, and link bandwidth (draft-ietf-idr-link-bandwidth)' },
  { number: 8092, title: 'Large communities' },
  { number: 8326, title: 'Graceful shutdown community' },
  { number: 7999, title: 'BLACKHOLE community', extent: 'sent like any community, 65535:666', status: met },
  { number: 8212, title: 'Nothing without a policy' },
  { number: 5082, title: 'GTSM', extent: 'on Linux' },
  { number: 2385, title: 'TCP MD5 signatures', extent: 'on Linux' },
  { number: 7911, title: 'ADD-PATH', extent: 'decoded and negotiated only', status: met },
  { number: 9494, title: 'Long-lived graceful restart', extent: 'decoded and negotiated only' },
  { number: 9234, title: 'Roles', extent: 'decoded and negotiated only' },
];
