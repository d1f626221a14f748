import { describe, expect, test } from 'vitest';
import { address } from '../../../../src/net/address.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { Speaker, type Peer, type PeerOptions } from '../../../../src/bgp/index.ts';
import { MemoryTransport, type RemoteEnd } from '../../../../src/bgp/transport/memory-transport.ts';
import { hex, marker, messages, toHex } from '../hex.ts';

/**
 * Our answer to malformed messages, byte by byte. FRR 8.4 and 10.3, BIRD 2, GoBGP 3.36 and OpenBGPD 8.8 were sent the same cases. Where
 * their answers differ, ours follows RFC 7606, or RFC 4271 where that is silent, and `why` gives the reason.
 */
type Answer =
  /** NOTIFICATION with code/subcode and, where the RFC asks for it, data. */
  | `N ${string}`
  /** The OPEN leads to Established. */
  | 'accepted'
  /** The session stays up, and the route in the message counts as announced. */
  | 'up, announced'
  /** The session stays up, and the route in the message counts as withdrawn (treat-as-withdraw). */
  | 'up, withdrawn'
  /** The session stays up, and the message had no route. */
  | 'up'
  /** The connection is closed without a NOTIFICATION. */
  | 'closed';

interface Row {
  readonly name: string;
  readonly bytes: string;
  readonly answer: Answer;
  readonly why?: string;
}

const u8 = (value: number): string => value.toString(16).padStart(2, '0');
const u16 = (value: number): string => value.toString(16).padStart(4, '0');
const octets = (text: string): number => text.replace(/\s/g, '').length / 2;

const message = (type: number, body: string, length = 19 + octets(body)): string => `${marker}${u16(length)}${u8(type)}${body}`;

const ourAsn = 64512;
const peerAsn = 65001;
const multiprotocolIpv4 = '0104 0001 0001';
const multiprotocolIpv6 = '0104 0002 0001';
const fourOctetAsn = (asn: number): string => `4104 ${asn.toString(16).padStart(8, '0')}`;
const usualCapabilities = `${multiprotocolIpv4} ${multiprotocolIpv6} 0200 ${fourOctetAsn(peerAsn)}`;
const parameter = (type: number, value: string): string => `${u8(type)} ${u8(octets(value))} ${value}`;

interface OpenFields {
  readonly version?: number;
  readonly asn?: number;
  readonly holdTime?: number;
  readonly id?: string;
  readonly parameters?: string;
  /** The value of the length octet when it is not the real length. */
  readonly parametersLength?: number;
}

function open({ version = 4, asn = peerAsn, holdTime = 90, id = '0a000001', parameters, parametersLength }: OpenFields): string {
  const text = parameters ?? parameter(2, usualCapabilities);
  return message(1, `${u8(version)} ${u16(asn)} ${u16(holdTime)} ${id} ${u8(parametersLength ?? octets(text))} ${text}`);
}

const capabilities = (text: string): string => open({ parameters: parameter(2, text) });

const keepalive = message(4, '');

const headerRows: readonly Row[] = [
  { name: 'BGP-001 a marker octet that is not ff', bytes: open({}).replace(/^ff/, 'fe'), answer: 'N 1/1' },
  { name: 'BGP-002 a header length of 18', bytes: message(4, '', 18), answer: 'N 1/2 0012' },
  {
    name: 'BGP-003 a header length of 4097, before its body',
    bytes: message(2, '', 4097),
    answer: 'N 1/2 1001',
  },
  { name: 'BGP-005 message type 0', bytes: message(0, ''), answer: 'N 1/3 00' },
  { name: 'BGP-005 message type 9', bytes: message(9, ''), answer: 'N 1/3 09' },
  { name: 'BGP-004 an OPEN of 28 octets', bytes: message(1, '04fde9005a0a0000'.padEnd(18, '0')), answer: 'N 1/2 001c' },
];

const openRows: readonly Row[] = [
  { name: 'BGP-012 version 3', bytes: open({ version: 3 }), answer: 'N 2/1 0004' },
  { name: 'BGP-012 version 5', bytes: open({ version: 5 }), answer: 'N 2/1 0004' },
  {
    name: 'BGP-013 an AS number that is not the configured one',
    bytes: open({ asn: 65009, parameters: parameter(2, `${multiprotocolIpv4} ${fourOctetAsn(65009)}`) }),
    answer: 'N 2/2',
  },
  {
    name: 'BGP-014 AS 0 in the OPEN',
    bytes: open({ asn: 0, parameters: parameter(2, multiprotocolIpv4) }),
    answer: 'N 2/2',
  },
  {
    name: 'BGP-014 AS 0 in the capability',
    bytes: capabilities(`${multiprotocolIpv4} ${fourOctetAsn(0)}`),
    answer: 'N 2/2',
  },
  {
    name: 'BGP-014 AS_TRANS without the capability',
    bytes: open({ asn: 23456, parameters: parameter(2, multiprotocolIpv4) }),
    answer: 'N 2/2',
  },
  {
    name: 'BGP-015 hold time 1',
    bytes: open({ holdTime: 1 }),
    answer: 'N 2/6 0001',
    why: 'RFC 4271 6.2; OpenBGPD says 4/0',
  },
  { name: 'BGP-015 hold time 2', bytes: open({ holdTime: 2 }), answer: 'N 2/6 0002' },
  { name: 'BGP-016 hold time 0', bytes: open({ holdTime: 0 }), answer: 'accepted' },
  {
    name: 'BGP-018 our own router ID, from another AS',
    bytes: open({ id: '0a000002' }),
    answer: 'accepted',
    why: 'RFC 6286',
  },
  { name: 'BGP-018 router ID 255.255.255.255', bytes: open({ id: 'ffffffff' }), answer: 'accepted' },
  { name: 'BGP-018 router ID 0.0.0.0', bytes: open({ id: '00000000' }), answer: 'N 2/3' },
  {
    name: 'BGP-019 optional parameter 1 (authentication, deprecated)',
    bytes: open({ parameters: parameter(1, '00') }),
    answer: 'N 2/4',
    why: 'RFC 5492 has removed 2/5, which FRR 8.4 says',
  },
  {
    name: 'BGP-019 optional parameter 77',
    bytes: open({ parameters: parameter(77, '00') }),
    answer: 'N 2/4',
    why: 'GoBGP accepts it',
  },
  { name: 'BGP-020 a parameter longer than all parameters', bytes: open({ parameters: '0209 0200' }), answer: 'N 2/0' },
  { name: 'BGP-020 a capability longer than its parameter', bytes: capabilities('0104 0001'), answer: 'N 2/0' },
  {
    name: 'BGP-020 parameters longer than the message',
    bytes: open({ parametersLength: 200 }),
    answer: 'N 2/0',
    why: 'GoBGP says 1/2, but the header is right',
  },
  {
    name: 'BGP-024 a multiprotocol capability of 3 octets',
    bytes: capabilities('0103 000100'),
    answer: 'N 2/0',
    why: 'GoBGP and OpenBGPD accept it',
  },
  {
    name: 'BGP-024 a 4-octet AS capability of 2 octets',
    bytes: capabilities(`${multiprotocolIpv4} 4102 fde9`),
    answer: 'N 2/0',
    why: 'as FRR 10 and BIRD; FRR 8.4 says 2/2',
  },
  {
    name: 'BGP-025 no common address family (EVPN only)',
    bytes: capabilities(`0104 0019 0046 ${fourOctetAsn(peerAsn)}`),
    answer: 'N 2/7 010400010001010400020001',
    why: 'RFC 5492 5; GoBGP and OpenBGPD accept a session without routes',
  },
  { name: 'BGP-023 no capabilities', bytes: open({ parameters: '' }), answer: 'accepted' },
  {
    name: 'BGP-021 the same capability twice',
    bytes: capabilities(`${multiprotocolIpv4} ${usualCapabilities}`),
    answer: 'accepted',
  },
  {
    name: 'BGP-021 a parameter for each capability',
    bytes: open({ parameters: [multiprotocolIpv4, '0200', fourOctetAsn(peerAsn)].map((one) => parameter(2, one)).join(' ') }),
    answer: 'accepted',
  },
  { name: 'BGP-022 an unknown capability', bytes: capabilities(`${usualCapabilities} ef03 010203`), answer: 'accepted' },
  {
    name: 'BGP-025 IPv6 only',
    bytes: capabilities(`${multiprotocolIpv6} ${fourOctetAsn(peerAsn)}`),
    answer: 'accepted',
  },
  {
    name: 'BGP-026 parameters in the extended form of RFC 9072',
    bytes: open({
      parametersLength: 255,
      parameters: `ff ${u16(3 + octets(usualCapabilities))} 02 ${u16(octets(usualCapabilities))} ${usualCapabilities}`,
    }),
    answer: 'accepted',
  },
  {
    name: 'BGP-029 a graceful restart capability of 3 octets',
    bytes: capabilities(`${usualCapabilities} 4003 007800`),
    answer: 'accepted',
    why: 'RFC 4724 3: it is ignored',
  },
];

const firstMessageRows: readonly Row[] = [
  { name: 'BGP-045 a KEEPALIVE before the OPEN', bytes: keepalive, answer: 'N 5/1' },
  { name: 'BGP-045 an UPDATE before the OPEN', bytes: message(2, '00000000'), answer: 'N 5/1' },
  {
    name: 'BGP-011 a NOTIFICATION before the OPEN',
    bytes: message(3, '0602'),
    answer: 'closed',
    why: 'as BIRD and OpenBGPD: a NOTIFICATION is never answered with another (RFC 4271 6.4); FRR says 5/1',
  },
];

const attribute = (flags: number, type: number, value: string): string => `${u8(flags)} ${u8(type)} ${u8(octets(value))} ${value}`;
const origin = attribute(0x40, 1, '00');
const asPath = attribute(0x40, 2, `0201 0000fde9`);
const nextHop = attribute(0x40, 3, '0a000001');
const nlri = '20 c6336401';

interface UpdateFields {
  readonly withdrawn?: string;
  readonly withdrawnLength?: number;
  readonly attributes?: readonly string[];
  readonly attributesLength?: number;
  readonly nlri?: string;
}

/** Encodes an UPDATE; by default with the well-known attributes and one route. */
function update({
  withdrawn = '',
  withdrawnLength,
  attributes = [origin, asPath, nextHop],
  attributesLength,
  ...rest
}: UpdateFields): string {
  const block = attributes.join(' ');
  const head = `${u16(withdrawnLength ?? octets(withdrawn))} ${withdrawn} ${u16(attributesLength ?? octets(block))} ${block}`;
  return message(2, `${head} ${rest.nlri ?? nlri}`);
}

const usual = [origin, asPath, nextHop];
const withAttribute = (...more: readonly string[]): string => update({ attributes: [...usual, ...more] });
const withNextHop = (value: string): string => update({ attributes: [origin, asPath, attribute(0x40, 3, value)] });
const withPath = (value: string): string => update({ attributes: [origin, attribute(0x40, 2, value), nextHop] });
const ipv6NextHop = '10 20010db8000000000000000000000001';
const mpReach = (value: string): string => attribute(0x80, 14, value);
const ipv6Reach = mpReach(`0002 01 ${ipv6NextHop} 00 20 20010db8`);

const updateRows: readonly Row[] = [
  { name: 'BGP-064 withdrawn routes longer than the message', bytes: update({ withdrawnLength: 200 }), answer: 'N 3/1' },
  { name: 'BGP-064 attributes longer than the message', bytes: update({ attributesLength: 200 }), answer: 'N 3/1' },
  {
    name: 'BGP-065 a prefix of length 33',
    bytes: update({ nlri: '21 c633640100' }),
    answer: 'N 3/10',
    why: 'GoBGP says 3/1',
  },
  {
    name: 'BGP-065 a truncated prefix',
    bytes: update({ nlri: '20 c633' }),
    answer: 'N 3/10',
    why: 'as FRR; BIRD and GoBGP say 3/1',
  },
  { name: 'BGP-071 no ORIGIN', bytes: update({ attributes: [asPath, nextHop] }), answer: 'up, withdrawn' },
  { name: 'BGP-071 no AS_PATH', bytes: update({ attributes: [origin, nextHop] }), answer: 'up, withdrawn' },
  { name: 'BGP-071 no NEXT_HOP', bytes: update({ attributes: [origin, asPath] }), answer: 'up, withdrawn' },
  {
    name: 'BGP-071 no NEXT_HOP when only MP_REACH_NLRI has routes',
    bytes: update({ attributes: [origin, asPath, ipv6Reach], nlri: '' }),
    answer: 'up, announced',
  },
  {
    name: 'BGP-070 ORIGIN 3',
    bytes: update({ attributes: [attribute(0x40, 1, '03'), asPath, nextHop] }),
    answer: 'up, withdrawn',
    why: 'FRR 8.4 resets',
  },
  {
    name: 'BGP-070 ORIGIN of 2 octets',
    bytes: update({ attributes: [attribute(0x40, 1, '0000'), asPath, nextHop] }),
    answer: 'up, withdrawn',
  },
  {
    name: 'BGP-070 ORIGIN with the optional flag',
    bytes: update({ attributes: [attribute(0xc0, 1, '00'), asPath, nextHop] }),
    answer: 'up, withdrawn',
  },
  {
    name: 'BGP-077 ORIGIN twice',
    bytes: withAttribute(attribute(0x40, 1, '02')),
    answer: 'up, announced',
    why: 'RFC 7606 3 g: the first one counts; FRR 8.4 resets',
  },
  {
    name: 'BGP-066 MP_REACH_NLRI twice',
    bytes: update({ attributes: [origin, asPath, ipv6Reach, ipv6Reach], nlri: '' }),
    answer: 'N 3/1',
  },
  {
    name: 'BGP-079 an unknown well-known attribute',
    bytes: withAttribute(attribute(0x40, 99, '00')),
    answer: 'up, withdrawn',
    why: 'RFC 7606 3, as FRR 10 and BIRD; GoBGP says 3/2, as RFC 4271 did',
  },
  {
    name: 'BGP-078 an unknown optional transitive attribute',
    bytes: withAttribute(attribute(0xc0, 99, '00')),
    answer: 'up, announced',
  },
  {
    name: 'BGP-078 an unknown optional non-transitive attribute',
    bytes: withAttribute(attribute(0x80, 99, '00')),
    answer: 'up, announced',
  },
  {
    name: 'BGP-073 NEXT_HOP 0.0.0.0',
    bytes: withNextHop('00000000'),
    answer: 'up, withdrawn',
    why: 'as BIRD; FRR resets with 3/8, for one route',
  },
  { name: 'BGP-073 NEXT_HOP 224.0.0.1', bytes: withNextHop('e0000001'), answer: 'up, withdrawn', why: 'as BIRD' },
  { name: 'BGP-073 NEXT_HOP is our own address', bytes: withNextHop('0a000002'), answer: 'up, announced' },
  { name: 'BGP-073 NEXT_HOP on another network', bytes: withNextHop('cb007101'), answer: 'up, announced' },
  { name: 'BGP-073 NEXT_HOP of 5 octets', bytes: withNextHop('0a00000100'), answer: 'up, withdrawn' },
  { name: 'BGP-081 an AS_PATH that begins with another AS', bytes: withPath('0201 0000fdea'), answer: 'up, announced' },
  { name: 'BGP-081 an AS_PATH with our own AS', bytes: withPath('0202 0000fde9 0000fc00'), answer: 'up, announced' },
  { name: 'BGP-081 an empty AS_PATH from an external peer', bytes: withPath(''), answer: 'up, announced' },
  { name: 'BGP-072 AS 0 in the AS_PATH', bytes: withPath('0201 00000000'), answer: 'up, withdrawn', why: 'RFC 7607' },
  {
    name: 'BGP-072 an AS_PATH segment longer than the attribute',
    bytes: withPath('0205 0000fde9'),
    answer: 'up, withdrawn',
    why: 'FRR 8.4 resets',
  },
  { name: 'BGP-072 an AS_PATH segment of an unknown type', bytes: withPath('0901 0000fde9'), answer: 'up, withdrawn' },
  { name: 'BGP-072 an AS_PATH segment without an AS', bytes: withPath('0200'), answer: 'up, withdrawn' },
  {
    name: 'BGP-076 LOCAL_PREF from an external peer',
    bytes: withAttribute(attribute(0x40, 5, '00000064')),
    answer: 'up, announced',
  },
  { name: 'BGP-076 ATOMIC_AGGREGATE of 1 octet', bytes: withAttribute(attribute(0x40, 6, '00')), answer: 'up, announced' },
  { name: 'BGP-076 AGGREGATOR of 3 octets', bytes: withAttribute(attribute(0xc0, 7, '000000')), answer: 'up, announced' },
  {
    name: 'BGP-074 MULTI_EXIT_DISC of 3 octets',
    bytes: withAttribute(attribute(0x80, 4, '000000')),
    answer: 'up, withdrawn',
  },
  {
    name: 'BGP-074 COMMUNITIES of 5 octets',
    bytes: withAttribute(attribute(0xc0, 8, '0000000000')),
    answer: 'up, withdrawn',
  },
  {
    name: 'BGP-074 EXTENDED COMMUNITIES of 7 octets',
    bytes: withAttribute(attribute(0xc0, 16, '00'.repeat(7))),
    answer: 'up, withdrawn',
  },
  {
    name: 'BGP-074 LARGE_COMMUNITY of 13 octets',
    bytes: withAttribute(attribute(0xc0, 32, '00'.repeat(13))),
    answer: 'up, withdrawn',
  },
  {
    name: 'BGP-075 an attribute longer than the attribute block',
    bytes: withAttribute('c0 08 40 00000000'),
    answer: 'up, withdrawn',
    why: 'RFC 7606 4: the length of the block shows where the routes begin',
  },
  {
    name: 'BGP-067 MP_REACH_NLRI with a next hop of 9 octets',
    bytes: update({ attributes: [origin, asPath, mpReach(`0002 01 09 ${'20'.repeat(9)} 00 20 20010db8`)], nlri: '' }),
    answer: 'N 3/9 800e1300020109202020202020202020002020010db8',
    why: 'RFC 4760 7, as BIRD; FRR says 3/1, GoBGP stays up',
  },
  {
    name: 'BGP-080 MP_REACH_NLRI of a family that was not negotiated',
    bytes: update({ attributes: [origin, asPath, mpReach('0019 46 04 0a000001 00')], nlri: '' }),
    answer: 'up',
  },
  {
    name: 'BGP-068 a truncated MP_UNREACH_NLRI',
    bytes: update({ attributes: [attribute(0x80, 15, '0002 01 40 2001')], nlri: '' }),
    answer: 'N 3/9 800f06000201402001',
    why: 'as FRR; BIRD says 3/1',
  },
  {
    name: 'BGP-069 a malformed attribute without a route to withdraw',
    bytes: update({ attributes: [attribute(0x40, 1, '03'), asPath], nlri: '' }),
    answer: 'N 3/6 40010103',
    why: 'RFC 7606 5.2, with the code that RFC 4271 6.3 has for the attribute; BIRD says 3/1, FRR 8.4 3/5, FRR 10 stays up',
  },
  { name: 'BGP-082 End-of-RIB of IPv4', bytes: message(2, '00000000'), answer: 'up' },
  {
    name: 'BGP-082 End-of-RIB of IPv6',
    bytes: update({ attributes: [attribute(0x80, 15, '0002 01')], nlri: '' }),
    answer: 'up',
  },
];

const establishedRows: readonly Row[] = [
  {
    name: 'BGP-004 a KEEPALIVE of 20 octets',
    bytes: message(4, '00'),
    answer: 'N 1/2 0014',
    why: 'RFC 4271 6.1, as FRR; BIRD and GoBGP stay up',
  },
  { name: 'BGP-004 an UPDATE of 22 octets', bytes: message(2, '000000'), answer: 'N 1/2 0016' },
  { name: 'BGP-004 a NOTIFICATION of 20 octets', bytes: message(3, '06'), answer: 'N 1/2 0014' },
  {
    name: 'BGP-045 an OPEN in Established',
    bytes: open({}),
    answer: 'N 5/3',
    why: 'RFC 6608, as BIRD; FRR and GoBGP close without a NOTIFICATION',
  },
  { name: 'BGP-083 a ROUTE-REFRESH of 22 octets', bytes: message(5, '000100'), answer: 'N 1/2 0016' },
  { name: 'BGP-083 a ROUTE-REFRESH of subtype 9', bytes: message(5, '00010901'), answer: 'up' },
  {
    name: 'BGP-005 message type 77',
    bytes: message(77, ''),
    answer: 'N 1/3 4d',
    why: 'as FRR and BIRD; GoBGP closes without a NOTIFICATION',
  },
  { name: 'BGP-011 a NOTIFICATION with an unknown code', bytes: message(3, '6363 01'), answer: 'closed' },
];

/** Builds the titles beforehand, because vitest would shorten the values. */
const titled = (rows: readonly Row[]): [string, Row][] => rows.map((row) => [`${row.name}: ${row.answer}`, row]);

describe('the answer to a malformed header or OPEN', () => {
  test.each(titled([...headerRows, ...openRows, ...firstMessageRows]))('%s', (_, { bytes, answer }) => {
    const { clock, peer, remote } = connect();
    send(clock, remote, bytes);
    if (peer.status().state === 'OpenConfirm') send(clock, remote, keepalive);
    expect(answerOf(peer, remote, 'accepted')).toBe(answer);
  });
});

describe('the answer to a malformed message in an established session', () => {
  test.each(titled([...establishedRows, ...updateRows]))('%s', (_, { bytes, answer: expected }) => {
    const { clock, peer, remote } = connect({ maximumPrefixes: { ipv4: 1 } });
    send(clock, remote, open({}) + keepalive);
    expect(peer.status().state).toBe('Established');
    send(clock, remote, update({}));
    remote.take();
    const before = peer.status().prefixesReceived;
    send(clock, remote, bytes);
    const { prefixesReceived } = peer.status();
    const answer = answerOf(peer, remote, 'up');
    expect(answer === 'up' ? `up${routeOf()}` : answer).toBe(expected);

    function routeOf(): string {
      if (prefixesReceived.ipv4 + prefixesReceived.ipv6 > before.ipv4 + before.ipv6) return ', announced';
      // The maximum is one prefix: a second one is accepted only if the first was withdrawn.
      send(clock, remote, update({ nlri: '20 c6336402' }));
      return peer.status().state === 'Established' ? ', withdrawn' : '';
    }
  });
});

test('BGP-010 messages after a fatal error are not read', () => {
  const { clock, peer, remote } = connect();
  send(clock, remote, open({}) + keepalive);
  remote.take();
  send(clock, remote, message(77, '') + update({}) + message(78, ''));
  expect(answerOf(peer, remote, 'up')).toBe('N 1/3 4d');
  expect(peer.status().counters.received.update).toBe(0);
});

function connect(more: Partial<PeerOptions> = {}): { clock: VirtualClock; peer: Peer; remote: RemoteEnd } {
  const clock = new VirtualClock();
  const transport = new MemoryTransport(clock);
  transport.localAddress = address('10.0.0.2');
  const speaker = new Speaker({ clock, random: () => 0.5, transport });
  const peer = speaker.addPeer({
    name: 'peer',
    address: address('10.0.0.1'),
    localAsn: ourAsn,
    peerAsn,
    routerId: address('10.0.0.2'),
    families: [4, 6],
    ...more,
  });
  clock.advance(0);
  const { remote } = transport;
  remote.take(); // our OPEN
  return { clock, peer, remote };
}

function send(clock: VirtualClock, remote: RemoteEnd, bytes: string): void {
  remote.send(hex(bytes));
  clock.advance(0);
}

/** Returns the answer of our speaker; `well` when the session is up. */
function answerOf(peer: Peer, remote: RemoteEnd, well: 'accepted' | 'up'): string {
  const notification = messages(remote.take()).find(({ type }) => type === 3);
  if (notification !== undefined) {
    const [code = 0, subcode = 0, ...data] = notification.body;
    return `N ${code}/${subcode} ${toHex(Uint8Array.from(data))}`.trim();
  }
  if (peer.status().state === 'Established') return well;
  return remote.closed || remote.ended ? 'closed' : `nothing, in state ${peer.status().state}`;
}
