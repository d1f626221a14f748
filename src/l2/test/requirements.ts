import { partly, requirement, type Catalogue, type Deviation } from '../../../test/support/requirement.ts';

/**
 * The requirements of ARP and NDP announcement. All sections and deviations were compared with the texts of the RFCs in Debian's packages
 * doc-rfc-std and doc-rfc-std-proposed, version 20230121-1.
 */
const chapters: Catalogue['chapters'] = [
  { title: 'ARP', first: 1, last: 13 },
  { title: 'Neighbor Discovery', first: 14, last: 22 },
  { title: 'Host and links', first: 23, last: 32 },
];

const requirements: Catalogue['requirements'] = [
  requirement(1, 'A request for a held address is answered by unicast to its sender, with our MAC address and the address.', '826'),
  requirement(
    2,
    'Malformed requests, requests of impossible senders, announcements, and frames for other hosts are ignored. An Ethernet source other than the sender is only counted.',
    '826; 5227 2.4, 2.5',
  ),
  requirement(3, 'A probe is answered, so that its sender learns that the address is taken.', '5227 2.5'),
  requirement(4, 'Unicast requests are answered.', '826'),
  requirement(5, 'Nothing is answered before the node forwards the address, nor after its ownership ended.', ''),
  requirement(
    6,
    'Before the first claim of an address that no node of ours held, three probes look for a foreign host; an answer or a probe of another host means conflict.',
    '5227 2.1, 2.1.1',
  ),
  requirement(7, 'A claim is announced in both forms: ARP request and ARP reply with equal sender and target.', '5227 2.3, 3'),
  requirement(
    8,
    'Announcements follow a claim at 0, 50, 200 ms, 1 and 3 s, then every 60 s, spread over the addresses.',
    '5227 2.3; 4861 7.2.6',
  ),
  requirement(
    9,
    'Held addresses are announced at once when the carrier returns, the MAC address changes, a bond fails over, or a partition heals.',
    '5227 2.1; 4861 7.2.6',
  ),
  requirement(10, 'Announcements are paced, urgent ones and busy addresses first.', '4861 7.2.6'),
  requirement(11, 'Every ARP packet whose sender address is held and whose MAC address is not ours is a conflict.', '5227 2.4'),
  requirement(
    12,
    'Against a foreign host an address is defended by one announcement in 10 s, or withdrawn if so configured, and reported with the MAC address.',
    '5227 2.4, 1.1',
  ),
  requirement(13, 'Against another node of ours the order of the candidates decides.', ''),

  requirement(
    14,
    'A solicitation is valid only with hop limit 255, code 0, a correct checksum, at least 24 octets, a unicast target, whole options, and, without a source, to the group of its target and without a link-layer address.',
    '4861 7.1.1, 4.3',
  ),
  requirement(
    15,
    'The answer has the Solicited and Override flags, not the Router flag, and the target link-layer address.',
    '4861 7.2.4, 4.4',
  ),
  requirement(16, 'A solicitation without a source (DAD) is answered to all nodes, without the Solicited flag.', '4861 7.2.4; 4862 5.4.3'),
  requirement(17, 'A solicitation without a source link-layer address is answered to its Ethernet source.', '4861 7.2.4'),
  requirement(18, 'A unicast solicitation to the address itself is answered.', '4861 7.3.3, 7.2.4'),
  requirement(
    19,
    'Unsolicited advertisements go to all nodes with the Override flag and to all routers without it, never with the Solicited flag. Their times are those of ARP.',
    '4861 7.2.6, 7.1.2; 9131 6.1.2',
  ),
  requirement(
    20,
    'The kernel joins the solicited-node group of each address, so that switches that snoop MLD deliver.',
    '4861 7.2.1; 4291 2.7.1, 2.8; 2464 7; 3810 6.1; 2710 4',
  ),
  requirement(21, 'Every candidate joins, in slices; addresses may share a group.', '4861 7.2.1; 4291 2.7.1'),
  requirement(22, 'Before a first claim solicitations without a source look for a foreign host.', '4862 5.4.2, 5.4.3, 5.4.4'),

  requirement(23, 'No interface has the address, so the kernel never answers by itself.', ''),
  requirement(24, 'What would make the kernel answer is reported.', ''),
  requirement(25, 'A process whose main thread hangs stops answering.', ''),
  requirement(26, 'The host sends no ICMP redirects for the addresses.', ''),
  requirement(27, 'The reverse path filter lets clients in.', ''),
  requirement(28, 'Only an interface that is up, has a carrier and a prefix of the address is used by default.', ''),
  requirement(
    29,
    'VLAN, bond, bridge and macvlan interfaces work; WiFi as an option.',
    '',
    partly('bond, VLAN and Wi-Fi are tested by messages and files of the kernel only'),
  ),
  requirement(30, 'A node that did not run for longer than the detection time answers nothing old and takes nothing from another one.', ''),
  requirement(31, 'Answers are limited to 1,000 a second to a host and 10,000 on an interface.', '5227 2.5'),
  requirement(
    32,
    'A socket filter takes only ARP, solicitations and advertisements; the decoder gives a reason for every other frame and never fails.',
    '',
  ),
];

const deviations: readonly Deviation[] = [
  {
    requirement: 6,
    source: '5227 2.1.1',
    demands: 'Three probes, each 1 to 2 s apart, after a random delay of up to 1 s, and 2 s of silence after the last one.',
    instead:
      'Three probes, 200 ms apart, without a delay, and 200 ms of silence. Hosts on a LAN answer within milliseconds, and a host that is missed is found by the ongoing detection.',
  },
  {
    requirement: 6,
    source: '5227 2.1.1',
    demands: 'After ten conflicts an interface probes for one new address a minute.',
    instead:
      'An address in conflict is probed every 10 s, each one by itself. The addresses do not change with a conflict, so there is no storm of new ones.',
  },
  {
    requirement: 6,
    source: '5227 2.1',
    demands: 'A host does not probe periodically.',
    instead:
      'The second candidate probes the first one once a second, for one address. This finds an owner whose session lives and which does not answer. An owner whose address a foreign host uses asks every 10 s whether it still does, so that the report ends.',
  },
  {
    requirement: 7,
    source: '5227 2.3, 3',
    demands: 'An announcement is a request.',
    instead: 'A reply follows the request, because some devices are said to heed only replies.',
  },
  {
    requirement: 8,
    source: '5227 2.3',
    demands: 'Two announcements, 2 s apart.',
    instead:
      'Five within 3 s, then one a minute. A lost frame would leave clients with a dead node, and switches forget a MAC address after 300 s.',
  },
  {
    requirement: 8,
    source: '4861 7.2.6',
    demands: 'At most three unsolicited advertisements, 1 s apart.',
    instead: 'The times of ARP, for the same reasons.',
  },
  {
    requirement: 12,
    source: '5227 2.4 (a)',
    demands: 'A host should reset its connections before it gives an address up.',
    instead: 'Connections are left alone. They end in pods, often on other nodes, and the withdrawal may be short.',
  },
  {
    requirement: 12,
    source: '5227 2.4 (c)',
    demands: 'No defence within 10 s after the time that was recorded for the previous conflicting packet.',
    instead: 'The time is recorded with each defence, so a host that insists meets one announcement every 10 s.',
  },
  {
    requirement: 14,
    source: '4861 7.1.1',
    demands: 'A solicitation may go to any multicast address, unless its source is unspecified.',
    instead: 'A multicast solicitation must go to the group of its target, which is all that section 4.3 lets a sender do.',
  },
  {
    requirement: 15,
    source: '4861 7.2.4, 7.2.6',
    demands: 'A node that forwards packets sets the Router flag.',
    instead: 'The flag is 0: the address is not a router, and no host may take it for one.',
  },
  {
    requirement: 17,
    source: '4861 7.2.4',
    demands: 'A node without the link-layer address of the source resolves it first.',
    instead: 'The answer goes to the Ethernet source of the solicitation, without delay. No neighbour entry is made.',
  },
  {
    requirement: 19,
    source: '9131 6.1.2',
    demands: 'Advertisements to all routers are 1 s apart, and three at most.',
    instead:
      'One follows each advertisement to all nodes. The Override flag is 0 as demanded; the advertisement to all nodes carries it, because the address has moved.',
  },
  {
    requirement: 22,
    source: '4862 5.4, 5.4.2',
    demands: 'An address is unique after 1 s of silence; an interface that has just started joins the group after a random delay.',
    instead: 'The times of ARP, and no delay: the group is joined long before, by every candidate.',
  },
  {
    requirement: 31,
    source: '5227 2.5',
    demands: 'Every request is answered.',
    instead: 'Beyond the limits none is.',
  },
];

export const l2: Catalogue = {
  prefix: 'L2',
  digits: 1,
  chapters,
  requirements,
  deviations,
  rfcs: [
    { number: 826, title: 'ARP', extent: 'IPv4 on Ethernet' },
    { number: 2464, title: 'IPv6 over Ethernet', extent: 'MAC addresses of groups' },
    { number: 2710, title: 'MLD version 1', extent: 'by the kernel' },
    { number: 3810, title: 'MLD version 2', extent: 'by the kernel' },
    { number: 4291, title: 'IPv6 addressing', extent: 'solicited-node groups' },
    { number: 4861, title: 'Neighbor Discovery', extent: 'solicitations and advertisements' },
    { number: 4862, title: 'Stateless address autoconfiguration', extent: 'duplicate address detection' },
    { number: 5227, title: 'IPv4 address conflict detection' },
    { number: 9131, title: 'Gratuitous Neighbor Discovery', extent: 'as the node that announces' },
  ],
};
