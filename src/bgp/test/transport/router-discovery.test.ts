import { describe, expect, test } from 'vitest';
import {
  encodeRouterAdvertisement,
  encodeRouterSolicitation,
  readRouterMessage,
} from '../../../../src/bgp/transport/linux/router-advertisement.ts';
import { RouterDiscovery, type ReceivedPacket } from '../../../../src/bgp/transport/linux/router-discovery.ts';
import { address, formatAddress, type Address } from '../../../../src/net/address.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { hex, toHex } from '../hex.ts';

const hardwareAddress = Uint8Array.of(2, 0, 0, 0, 0, 1);
const own = address('fe80::a');
const router = address('fe80::b');

describe('router messages', () => {
  test('an advertisement has lifetime 0 and the hardware address', () => {
    expect(toHex(encodeRouterAdvertisement(undefined))).toBe('86000000000000000000000000000000');
    expect(toHex(encodeRouterAdvertisement(hardwareAddress))).toBe('860000000000000000000000000000000101020000000001');
    expect(toHex(encodeRouterSolicitation(hardwareAddress))).toBe('85000000000000000101020000000001');
  });

  test.each([
    ['86000000400007080000000000000000', 134],
    ['8600000040000708000000000000000001010200000000010501000000 0005dc', 134],
    ['8500000000000000', 133],
    ['8501000000000000', undefined], // wrong code
    ['8700000000000000', undefined], // wrong type
    ['860000004000070800000000000000', undefined], // too short
    ['85000000', undefined],
    ['', undefined],
    ['860000004000070800000000000000000100020000000001', undefined], // an option of length 0
    ['860000004000070800000000000000000102020000000001', undefined], // an option that ends beyond the message
    ['8600000040000708000000000000000001', undefined], // an option that ends after its type
  ])('the message %s has type %s', (text, type) => {
    expect(readRouterMessage(hex(text))).toBe(type);
  });

  test('a truncated message is not read beyond its end', () => {
    const whole = encodeRouterAdvertisement(hardwareAddress);
    const lengths = Array.from({ length: whole.length + 1 }, (_, length) => length).filter(
      (length) => readRouterMessage(whole.subarray(0, length)) !== undefined,
    );
    expect(lengths).toEqual([16, 24]);
  });
});

function discover() {
  const clock = new VirtualClock();
  const sent: string[] = [];
  const events: string[] = [];
  const wire: ReceivedPacket[] = [];
  const state = { open: 0, failure: undefined as string | undefined };
  const fail = (): void => {
    if (state.failure !== undefined) throw Object.assign(new Error('failed'), { code: state.failure });
  };
  const discovery = new RouterDiscovery(
    {
      clock,
      random: () => 0.5,
      factsOf: () => ({ hardwareAddress, addresses: [own] }),
      open: () => {
        fail();
        state.open++;
        return {
          send: (message, to) => {
            fail();
            sent.push(`${clock.now()} ${message[0] === 134 ? 'RA' : 'RS'} ${formatAddress(to)}`);
          },
          receive: () => {
            fail();
            return wire.shift();
          },
          close: () => void state.open--,
        };
      },
    },
    'eth1',
    { found: (found) => events.push(formatAddress(found)), failed: ({ detail }) => events.push(detail) },
  );
  const receive = (source: Address, message: Uint8Array = encodeRouterAdvertisement(undefined), hopLimit = 255): void => {
    wire.push({ source, message, hopLimit });
    clock.advance(200);
  };
  return { clock, discovery, sent, events, state, receive };
}

describe('discovery of a router', () => {
  test('discovery starts with three quick advertisements, and solicits until it finds a router', () => {
    const { clock, sent, receive } = discover();
    clock.advance(0);
    expect(sent.splice(0)).toEqual(['0 RA ff02::1', '0 RS ff02::2']);
    clock.advance(2_800);
    receive(router);
    clock.advance(60_000);
    const advertised = sent.map((text) => text.split(' ').slice(0, 2).join(' '));
    expect(advertised).toEqual(['3000 RA', '6000 RA', '26000 RA', '46000 RA']);
  });

  test('a router is reported once per address', () => {
    const { events, receive, clock } = discover();
    clock.advance(0);
    receive(router);
    receive(router);
    expect(events).toEqual(['fe80::b']);
    receive(address('fe80::c'));
    expect(events).toEqual(['fe80::b', 'fe80::c']);
  });

  test.each([
    ['an advertisement with a hop limit below 255', router, undefined, 254],
    ['an advertisement from a global address', address('2001:db8::1'), undefined, 255],
    ['our own advertisement', own, undefined, 255],
    ['a malformed message', router, hex('8600'), 255],
    ['a solicitation', router, encodeRouterSolicitation(undefined), 255],
  ])('%s is ignored', (_, source, message, hopLimit) => {
    const { events, receive, clock } = discover();
    clock.advance(0);
    receive(source, message, hopLimit);
    expect(events).toEqual([]);
  });

  test('solicitations are answered soon, but at most once every three seconds', () => {
    const { clock, sent, receive } = discover();
    clock.advance(10_000);
    sent.length = 0;
    receive(router, encodeRouterSolicitation(undefined));
    clock.advance(600);
    expect(sent).toHaveLength(1);
    for (let i = 0; i < 13; i++) receive(router, encodeRouterSolicitation(undefined));
    expect(sent).toHaveLength(1);
    receive(router, encodeRouterSolicitation(undefined));
    clock.advance(600);
    expect(sent).toHaveLength(2);
  });

  test.each([
    ['EPERM', 'needs CAP_NET_RAW'],
    ['ENODEV', 'there is no network interface eth1'],
    ['ENETDOWN', 'eth1 is down'],
    ['EADDRNOTAVAIL', 'eth1 has no link-local address'],
    ['EAFNOSUPPORT', 'needs IPv6'],
    ['ENOBUFS', 'failed'],
  ])('%s is reported once with a message, retried, and reported again when it returns', (code, words) => {
    const { clock, events, state, sent } = discover();
    state.failure = code;
    clock.advance(10_000);
    expect(events).toEqual([expect.stringContaining(words)]);
    state.failure = undefined;
    clock.advance(3_200);
    expect([state.open, sent.length]).toEqual([1, 2]);
    state.failure = code;
    clock.advance(10_000);
    expect(events).toHaveLength(2);
    expect(state.open).toBe(0);
  });

  test('close() leaves no socket and no timer, even before the first send', () => {
    const first = discover();
    first.discovery.close();
    const second = discover();
    second.clock.advance(10_000);
    second.discovery.close();
    second.discovery.close();
    for (const { clock, state } of [first, second]) expect([clock.pending, state.open]).toEqual([0, 0]);
  });
});
