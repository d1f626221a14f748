import { requirement, type Catalogue } from './requirement.ts';

/** The requirements of BFD. */
const chapters: Catalogue['chapters'] = [
  { title: 'Packets', first: 1, last: 5 },
  { title: 'Sessions', first: 6, last: 27 },
  { title: 'Running it', first: 28, last: 36 },
];

const requirements: Catalogue['requirements'] = [
  requirement(1, 'Packets of 24 octets are encoded and decoded, every field of them.', '5880 4.1'),
  requirement(
    2,
    'A packet is discarded, and counted, for a wrong version, length, detect multiplier or discriminator, the Multipoint bit, or a sender that is not the peer.',
    '5880 6.8.6',
  ),
  requirement(
    3,
    'A neighbour is spoken to at UDP port 3784 and a peer some hops away at 4784, from a source port above 49151 that is constant for a session and no other session has.',
    '5881 4; 5883 5',
  ),
  requirement(
    4,
    'Packets leave with TTL 255; from a neighbour only TTL 255 is accepted, from others what their minimum allows.',
    '5881 5; 5883 6',
  ),
  requirement(5, 'The TTL is looked at in the kernel, by a socket filter that is there before the port is.', '5881 5'),

  requirement(6, 'Four states; what each event does in each of them is written down.', '5880 6.2, 6.8.6'),
  requirement(
    7,
    'A packet that does not know our discriminator is for the session with its sender, on its interface.',
    '5880 6.3; 5881 3; 5883 4',
  ),
  requirement(8, 'A session that is not Up offers and sends no packet faster than one a second.', '5880 6.8.3'),
  requirement(9, 'When it comes Up it goes over to its own intervals by a Poll Sequence.', '5880 6.8.3'),
  requirement(10, 'The time between packets is the slower of what we offer and what the peer takes, at any time.', '5880 6.8.7'),
  requirement(11, 'Where that becomes shorter, the packet that is due comes earlier.', '5880 6.8.7'),
  requirement(12, 'It is reckoned from our latest packet, so that a peer that sends much does not silence us.', '5880 6.8.7'),
  requirement(13, 'Each interval is shortened at random by up to a quarter, by a tenth at least where the multiplier is 1.', '5880 6.8.7'),
  requirement(14, 'A Poll is answered with Final at once; no packet has both bits.', '5880 6.5, 6.8.7'),
  requirement(
    15,
    'Slower packets and a shorter detection time wait for the answer to our Poll; no change of intervals is a flap.',
    '5880 6.5, 6.8.3',
  ),
  requirement(
    16,
    'The peer is given up, with diagnostic 1, after its multiplier times the slower of what we take and what it sends.',
    '5880 6.8.4',
  ),
  requirement(17, 'A peer that takes no packets gets none, but for answers to its polls.', '5880 6.8.7'),
  requirement(18, 'The active side speaks first, and then every second.', '5880 6.1, 6.8.1'),
  requirement(19, 'The passive side says nothing before it has heard its peer, nor after it has given it up.', '5880 6.1, 6.8.7'),
  requirement(
    20,
    'What goes down on purpose says AdminDown until the peer has heard it or its detection time is over; AdminDown of either side closes no BGP session.',
    '5880 6.8.16; 5882 3.2',
  ),
  requirement(21, 'A peer that is silent or signals Down is lost: BGP is closed, with Cease / BFD Down.', '5882 4.2; 9384 3'),
  requirement(22, 'BFD that never came up does not hold BGP back, unless strict mode (`bfdStrict`) asks for it.', '5882 4.1'),
  requirement(23, 'The C bit is 0, because BFD ends with the process that speaks BGP; the one of the peer is shown.', '5882 4.3'),
  requirement(24, 'Discriminators are random, unique, not 0, and others after a restart.', '5880 6.3, 6.8.1'),
  requirement(25, 'A peer that restarts with another discriminator comes up again.', '5880 6.8.1'),
  requirement(26, 'Link-local peers are told apart by their interface, each with a socket of its own.', '5881 3, 6'),
  requirement(27, 'A receiver that stood still reads what has arrived before it gives a peer up.', ''),

  requirement(28, 'The sessions run in a thread of their own: a main thread that is held up does not hold them up.', ''),
  requirement(29, 'Ten sessions at 50 ms keep their intervals where the machine lets them.', ''),
  requirement(
    30,
    '300 ms times 3 is the default; the shortest interval is configurable, and short ones without real-time priority are warned about.',
    '',
  ),
  requirement(31, 'The thread takes real-time priority where it may, and goes on without where it may not.', ''),
  requirement(
    32,
    'Packets, discards by reason, ups and downs, both diagnostics and the latest time of being down are counted and shown.',
    '',
  ),
  requirement(33, 'What the network refuses to carry is counted and said; the state machine goes on.', ''),
  requirement(34, 'There is no echo mode; towards a peer in demand mode only polls are answered.', '5880 6.8.7, 6.8.9'),
  requirement(35, 'There is no authentication: packets with it are discarded.', '5880 6.7, 6.8.6'),
  requirement(36, 'FRR takes a peer with `ttl-security hops` for a multihop one: its session is at port 4784.', ''),
];

const rfcs: Catalogue['rfcs'] = [
  {
    number: 5880,
    title: 'BFD',
    extent:
      "asynchronous mode; the peer may use demand mode; no echo, no authentication; stricter than section 6.3: packets that know our discriminator count only from the peer's address and interface; no congestion control over several hops (section 7) but that a session that is lost sends a packet a second",
  },
  { number: 5881, title: 'BFD over one hop' },
  {
    number: 5882,
    title: 'What BFD means to BGP',
    extent:
      'after a loss BGP waits for BFD for a second, and as long as it takes with `bfdStrict` only (section 4.1 would have it wait); why: docs/explanation/failure-modes.md',
  },
  { number: 5883, title: 'BFD over several hops' },
  { number: 9384, title: 'Cease for BFD Down' },
];

export const bfd: Catalogue = { prefix: 'BFD', chapters, requirements, rfcs };
