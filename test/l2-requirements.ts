import { met, partly, requirement, type Catalogue, type Status } from './requirement.ts';

/** The requirements of ARP and NDP announcement. */
const open: Status = { kind: 'open' };

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
    '826; 5227 2.3',
  ),
  requirement(3, 'A probe is answered, so that its sender learns that the address is taken.', '5227 1.1'),
  requirement(4, 'Unicast requests are answered.', '826'),
  requirement(
    5,
    'Nothing is answered before the node forwards the address, nor after its ownership ended.',
    '',
    partly('the agent does not list nodes as candidates yet'),
  ),
  requirement(
    6,
    'Before the first claim of an address that no node of ours held, three probes look for a foreign host; an answer or a probe of another host means conflict. The probes are 200 ms apart and not 1 to 2 s.',
    '5227 2.1.1',
    met,
  ),
  requirement(7, 'A claim is announced in both forms: ARP request and ARP reply with equal sender and target.', '5227 2.3, 3'),
  requirement(8, 'Announcements follow a claim at 0, 50, 200 ms, 1 and 3 s, then every 60 s, spread over the addresses.', '5227 2.3'),
  requirement(
    9,
    'Held addresses are announced at once when the carrier returns, the MAC address changes, a bond fails over, or a partition heals.',
    '',
    partly('the agent does not follow link events yet'),
  ),
  requirement(10, 'Announcements are paced, urgent ones and busy addresses first.', ''),
  requirement(11, 'Every ARP packet whose sender address is held and whose MAC address is not ours is a conflict.', '5227 2.4'),
  requirement(
    12,
    'Against a foreign host an address is defended by one announcement in 10 s, or withdrawn if so configured, and reported with the MAC address.',
    '5227 2.4',
    partly('there is no condition, Event or metric yet'),
  ),
  requirement(13, 'Against another node of ours the order of the candidates decides.', ''),

  requirement(
    14,
    'A solicitation is valid only with hop limit 255, code 0, a correct checksum, at least 24 octets, a unicast target, whole options, and, without a source, to the group of its target and without a link-layer address.',
    '4861 7.1.1',
  ),
  requirement(15, 'The answer has the Solicited and Override flags, not the Router flag, and the target link-layer address.', '4861 7.2.4'),
  requirement(16, 'A solicitation without a source (DAD) is answered to all nodes, without the Solicited flag.', '4861 7.2.4; 4862 5.4.3'),
  requirement(17, 'A solicitation without a source link-layer address is answered to its Ethernet source.', '4861 7.2.4'),
  requirement(18, 'A unicast solicitation to the address itself is answered.', '4861 7.3.3'),
  requirement(
    19,
    'Unsolicited advertisements go to all nodes with the Override flag and to all routers without it, never with the Solicited flag. Their times are those of ARP.',
    '4861 7.2.6, 7.1.2; 9131 6.1.2',
  ),
  requirement(
    20,
    'The kernel joins the solicited-node group of each address, so that switches that snoop MLD deliver.',
    '4291 2.7.1; 2464 7',
  ),
  requirement(21, 'Every candidate joins, in slices; addresses may share a group.', '4291 2.7.1'),
  requirement(22, 'Before a first claim solicitations without a source look for a foreign host.', '4862 5.4'),

  requirement(23, 'No interface has the address, so the kernel never answers by itself.', ''),
  requirement(24, 'What would make the kernel answer is reported.', '', open),
  requirement(25, 'A process whose main thread hangs stops answering.', ''),
  requirement(26, 'The host sends no ICMP redirects for the addresses.', '', open),
  requirement(27, 'The reverse path filter lets clients in.', '', open),
  requirement(28, 'Only an interface that is up, has a carrier and a prefix of the address is used by default.', '', open),
  requirement(29, 'VLAN, bond, bridge and macvlan interfaces work; WiFi as an option.', '', partly('tested on veth behind a bridge only')),
  requirement(30, 'A node that did not run for longer than the detection time answers nothing old and takes nothing from another one.', ''),
  requirement(31, 'Answers are limited to 1,000 a second to a host and 10,000 on an interface.', ''),
  requirement(
    32,
    'A socket filter takes only ARP, solicitations and advertisements; the decoder gives a reason for every other frame and never fails.',
    '',
    partly('drops of the kernel are in the status and no metric yet'),
  ),
];

export const l2: Catalogue = {
  prefix: 'L2',
  digits: 1,
  chapters,
  requirements,
  rfcs: [
    { number: 826, title: 'ARP', extent: 'IPv4 on Ethernet' },
    { number: 2464, title: 'IPv6 over Ethernet', extent: 'MAC addresses of groups' },
    { number: 4291, title: 'IPv6 addressing', extent: 'solicited-node groups' },
    { number: 4861, title: 'Neighbor Discovery', extent: 'solicitations and advertisements' },
    { number: 4862, title: 'Stateless address autoconfiguration', extent: 'duplicate address detection' },
    { number: 5227, title: 'IPv4 address conflict detection' },
    { number: 9131, title: 'Gratuitous Neighbor Discovery', extent: 'as the node that announces' },
  ],
};
