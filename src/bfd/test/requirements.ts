import { requirement, type Catalogue } from '../../../test/support/requirement.ts';

/** The requirements of BFD. */
const chapters: Catalogue['chapters'] = [
  { title: 'Packets', first: 1, last: 5 },
  { title: 'Sessions', first: 6, last: 27 },
  { title: 'Operation', first: 28, last: 36 },
];

const requirements: Catalogue['requirements'] = [
  requirement(1, 'Packets of 24 octets are encoded and decoded with all their fields.', '5880 4.1'),
  requirement(
    2,
    'A packet is discarded, and counted, for a wrong version, length, detect multiplier or discriminator, the Multipoint bit, or a sender that is not the peer.',
    '5880 6.8.6',
  ),
  requirement(
    3,
    'Packets go to UDP port 3784 of a neighbour and 4784 of a peer several hops away, from a source port above 49151 that is constant for a session and unique to it.',
    '5881 4; 5883 5',
  ),
  requirement(
    4,
    'Packets are sent with TTL 255; from a neighbour only TTL 255 is accepted, from other peers their configured minimum.',
    '5881 5; 5883 6',
  ),
  requirement(5, 'The kernel checks the TTL, with a socket filter that is attached before the port is bound.', '5881 5'),

  requirement(6, 'The state machine has four states; the effect of each event in each state is specified.', '5880 6.2, 6.8.6'),
  requirement(
    7,
    'A packet without our discriminator belongs to the session with its sender on the receiving interface.',
    '5880 6.3; 5881 3; 5883 4',
  ),
  requirement(8, 'A session that is not Up advertises and sends at most one packet a second.', '5880 6.8.3'),
  requirement(9, 'A session that comes Up changes to its own intervals with a Poll Sequence.', '5880 6.8.3'),
  requirement(10, 'The time between packets is always the slower of what we offer and what the peer accepts.', '5880 6.8.7'),
  requirement(11, 'When the interval becomes shorter, the next packet is sent earlier.', '5880 6.8.7'),
  requirement(12, 'The interval counts from our latest packet, so that a peer that sends many packets does not stop ours.', '5880 6.8.7'),
  requirement(
    13,
    'Each interval is shortened at random by up to a quarter, and by at least a tenth when the multiplier is 1.',
    '5880 6.8.7',
  ),
  requirement(14, 'A Poll is answered with Final at once; no packet has both bits.', '5880 6.5, 6.8.7'),
  requirement(
    15,
    'Slower packets and a shorter detection time wait for the Final to our Poll; no change of intervals causes a flap.',
    '5880 6.5, 6.8.3',
  ),
  requirement(
    16,
    'A silent peer is declared Down, with diagnostic 1, after its multiplier times the slower of what we accept and what it sends.',
    '5880 6.8.4',
  ),
  requirement(17, 'A peer that accepts no packets gets only answers to its polls.', '5880 6.8.7'),
  requirement(18, 'The active side sends first, and then every second.', '5880 6.1, 6.8.1'),
  requirement(
    19,
    'The passive side sends nothing before it has received a packet of its peer, and nothing after its detection time expired.',
    '5880 6.1, 6.8.7',
  ),
  requirement(
    20,
    'A session that is shut down sends AdminDown until the peer has answered or its detection time is over; AdminDown of either side closes no BGP session.',
    '5880 6.8.16; 5882 3.2',
  ),
  requirement(21, 'A peer that is silent or signals Down is lost: the BGP session is closed with Cease / BFD Down.', '5882 4.2; 9384 3'),
  requirement(22, 'BFD that never came up does not delay BGP, unless strict mode (`bfdStrict`) requires it.', '5882 4.1'),
  requirement(23, "The C bit is 0, because BFD ends with the process that runs BGP; the peer's C bit is shown.", '5882 4.3'),
  requirement(24, 'Discriminators are random, unique and not 0, and change with a restart.', '5880 6.3, 6.8.1'),
  requirement(25, 'A session with a peer that restarts with another discriminator comes up again.', '5880 6.8.1'),
  requirement(26, 'Link-local peers are distinguished by their interface, each with a socket of its own.', '5881 3, 6'),
  requirement(27, 'A stalled receiver reads the packets that arrived before it declares a peer Down.', ''),

  requirement(28, 'The sessions run in a thread of their own: a blocked main thread does not delay them.', ''),
  requirement(29, 'Ten sessions at 50 ms keep their intervals when the machine permits it.', ''),
  requirement(
    30,
    'The default is 300 ms times 3; the shortest interval is configurable, and short intervals without real-time priority cause a warning.',
    '',
  ),
  requirement(31, 'The thread uses real-time priority when permitted, and runs without it otherwise.', ''),
  requirement(32, 'Packets, discards by reason, ups and downs, both diagnostics and the latest time spent down are counted and shown.', ''),
  requirement(33, 'Packets that the network refuses to send are counted and reported, and the state machine goes on.', ''),
  requirement(34, 'There is no echo mode; a peer in demand mode gets only answers to its polls.', '5880 6.8.7, 6.8.9'),
  requirement(35, 'There is no authentication: authenticated packets are discarded.', '5880 6.7, 6.8.6'),
  requirement(36, 'FRR treats a peer with `ttl-security hops` as multihop: its session uses port 4784.', ''),
];

const rfcs: Catalogue['rfcs'] = [
  {
    number: 5880,
    title: 'BFD',
    extent:
      "asynchronous mode; the peer may use demand mode; no echo, no authentication; stricter than section 6.3: a packet with our discriminator is accepted only from the peer's address and interface; no congestion control over several hops (section 7), except that a lost session sends only one packet a second",
  },
  { number: 5881, title: 'BFD over one hop' },
  {
    number: 5882,
    title: 'Generic application of BFD',
    extent:
      'after a loss BGP waits one second for BFD, and without limit only with `bfdStrict` (section 4.1 has it wait); the reason is in docs/explanation/failure-modes.md',
  },
  { number: 5883, title: 'BFD over several hops' },
  { number: 9384, title: 'Cease for BFD Down' },
];

export const bfd: Catalogue = { prefix: 'BFD', chapters, requirements, rfcs };
