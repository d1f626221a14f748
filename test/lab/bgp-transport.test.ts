import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { defined } from '../../src/lang/defined.ts';
import {
  addCable,
  addresses,
  clearRules,
  count,
  counted,
  dropInput,
  removeCable,
  setUp,
  startRouter,
  tearDown,
  TransportHost,
  vtysh,
} from './bgp-transport-lab.ts';
import { until } from './until.ts';
import type { ConnectionView, DialOptions } from './bgp-transport-host.ts';

let a: TransportHost;
let b: TransportHost;

/** Milliseconds to wait for an answer that must not come. The kernel sends a second SYN after one second. */
const silence = 1_500;

const connected = (host: TransportHost, name: string): Promise<ConnectionView> =>
  until(`${name} is connected`, async (note) => {
    const view = note(await host.call('view', name));
    return view?.events.some((event) => event.startsWith('connected')) === true ? view : undefined;
  });
const received = (host: TransportHost, name: string, text: string): Promise<ConnectionView> =>
  until(`${name} has received ${text}`, async (note) => {
    const view = note(await host.call('view', name));
    return view?.received === text ? view : undefined;
  });
const closed = (host: TransportHost, name: string): Promise<ConnectionView> =>
  until(`${name} is closed`, async (note) => {
    const view = note(await host.call('view', name));
    return view?.events.some((event) => event.startsWith('closed')) === true ? view : undefined;
  });
const listening = async (host: TransportHost, at?: string): Promise<void> => {
  await host.call('listen', 'bgp', 179, at);
  await until('the listener has its port', async (note) => note(await host.call('listener', 'bgp')).port === 179);
};

describe('the transport between two hosts', () => {
  beforeAll(async () => {
    await setUp();
    a = new TransportHost('a');
    b = new TransportHost('b');
  });
  afterAll(async () => {
    a.stop();
    b.stop();
    await tearDown();
  });
  afterEach(async () => {
    await Promise.all([a.call('reset'), b.call('reset'), clearRules('a'), clearRules('b')]);
  });

  describe.each([4, 6] as const)('over IPv%i', (family) => {
    const [ours, theirs] = [addresses.a[family], addresses.b[family]];
    const peer: DialOptions = { address: theirs, port: 179, ttl: 255 };

    test('BGP-054 the same MD5 password on both ends connects and carries data both ways', async () => {
      await listening(b);
      expect(await b.call('setKeys', 'bgp', { [ours]: 'secret' })).toEqual([]);
      await a.call('dial', 'one', { ...peer, password: 'secret' });
      await connected(a, 'one');
      const accepted = await connected(b, 'bgp/0');
      expect(accepted.remote).toBe(ours);
      await a.call('write', 'one', 'signed');
      await b.call('write', 'bgp/0', 'likewise');
      await received(b, 'bgp/0', 'signed');
      await received(a, 'one', 'likewise');
    });

    test.each([
      ['another password', 'secret', 'other', 'wrong'],
      ['no password where one is expected', 'secret', undefined, 'missing'],
      ['a password where none is expected', undefined, 'secret', 'unexpected'],
    ] as const)('BGP-054 %s gets no answer, and the receiver counts the segments', async (_, expected, sent, counter) => {
      await listening(b);
      if (expected !== undefined) await b.call('setKeys', 'bgp', { [ours]: expected });
      const before = await b.call('kernelDrops');
      await a.call('dial', 'one', { ...peer, ...defined({ password: sent }) });
      await until('a second SYN was dropped', async (note) => {
        const after = note(await b.call('kernelDrops'));
        return (after?.[counter] ?? Number.NaN) >= (before?.[counter] ?? Number.NaN) + 2;
      });
      expect((await a.call('view', 'one'))?.events).toEqual([]);
      expect((await b.call('listener', 'bgp')).accepted).toBe(0);
      await a.call('destroy', 'one');
      expect(JSON.stringify(await closed(a, 'one'))).not.toMatch(/secret|other/);
    });

    test('a key for a prefix applies to every address in it, and the longest prefix wins', async () => {
      await listening(b);
      const [wide, narrow] = family === 4 ? ['10.98.0.0/16', '10.98.0.0/24'] : ['fd98::/32', 'fd98::/64'];
      await b.call('setKeys', 'bgp', { [wide]: 'wide', [narrow]: 'narrow' });
      await a.call('dial', 'wide', { ...peer, password: 'wide' });
      await a.call('dial', 'narrow', { ...peer, password: 'narrow' });
      await connected(a, 'narrow');
      await connected(b, 'bgp/0');
      await sleep(silence);
      expect((await a.call('view', 'wide'))?.events).toEqual([]);
      expect((await b.call('listener', 'bgp')).accepted).toBe(1);
    });

    test('BGP-054 a listener takes a key, another key and none, and existing connections stay', async () => {
      await listening(b);
      const keys: (string | undefined)[] = [undefined, 'first', 'second', undefined];
      for (const [index, password] of keys.entries()) {
        expect(await b.call('setKeys', 'bgp', password === undefined ? {} : { [ours]: password })).toEqual([]);
        await a.call('dial', `${index}`, { ...peer, ...defined({ password }) });
        await connected(a, `${index}`);
        await connected(b, `bgp/${index}`);
      }
      for (const index of keys.keys()) {
        await a.call('write', `${index}`, `hello ${index}`);
        await received(b, `bgp/${index}`, `hello ${index}`);
      }
    });

    test('BGP-061 both ends send with TTL 255 and traffic class CS6, from the SYN and the SYN/ACK on', async () => {
      const [ttl, all] = family === 4 ? ['ip ttl', 'meta nfproto ipv4'] : ['ip6 hoplimit', 'meta nfproto ipv6'];
      const dscp = family === 4 ? 'ip dscp' : 'ip6 dscp';
      await count('b', { all: `${all} tcp dport 179`, right: `${all} tcp dport 179 ${ttl} 255 ${dscp} cs6` });
      await count('a', {
        all: `${all} tcp sport 179`,
        right: `${all} tcp sport 179 ${ttl} 255 ${dscp} cs6`,
        synack: `tcp sport 179 tcp flags & (syn | ack) == syn | ack ${ttl} 255 ${dscp} cs6`,
      });
      await listening(b);
      await a.call('dial', 'one', peer);
      await connected(b, 'bgp/0');
      await a.call('write', 'one', 'to b');
      await b.call('write', 'bgp/0', 'to a');
      await received(b, 'bgp/0', 'to b');
      await received(a, 'one', 'to a');
      // An acknowledgement may arrive while the kernel lists the counters.
      const settled = (host: 'a' | 'b'): Promise<Record<string, number>> =>
        until(`all packets that have arrived at ${host} have the right fields`, async (note) => {
          const counts = note(await counted(host));
          return counts['right'] === counts['all'] && counts;
        });
      expect((await settled('a'))['synack']).toBeGreaterThan(0);
      expect((await settled('b'))['right']).toBeGreaterThan(2);
    });

    test('an accepted connection sends with the TTL set for accepting', async () => {
      const ttl = family === 4 ? 'ip ttl' : 'ip6 hoplimit';
      await count('a', {
        single: `tcp sport 179 tcp flags & (psh | ack) == psh | ack ${ttl} 1`,
        other: `tcp sport 179 tcp flags & psh == psh ${ttl} != 1`,
      });
      await listening(b);
      await b.call('acceptWith', 'bgp', { ttl: 1 });
      await a.call('dial', 'one', peer);
      await connected(b, 'bgp/0');
      await b.call('write', 'bgp/0', 'near');
      await received(a, 'one', 'near');
      const { single, other } = await counted('a');
      expect(single).toBeGreaterThan(0);
      expect(other).toBe(0);
    });

    test('a listener with TTL security gets data of a peer with TTL 255 and none of one with TTL 64', async () => {
      await listening(b);
      await b.call('acceptWith', 'bgp', { ttl: 255, minimumTtl: 255 });
      const before = await b.call('kernelDrops');
      await a.call('dial', 'near', { ...peer, minimumTtl: 255 });
      await connected(b, 'bgp/0');
      await a.call('dial', 'far', { ...peer, ttl: 64 });
      await connected(b, 'bgp/1');
      await a.call('write', 'far', 'from afar');
      await a.call('write', 'near', 'from next door');
      await received(b, 'bgp/0', 'from next door');
      await until('the data with TTL 64 was dropped', async (note) => {
        const after = note(await b.call('kernelDrops'));
        return (after?.belowMinimumTtl ?? Number.NaN) > (before?.belowMinimumTtl ?? Number.NaN);
      });
      expect((await b.call('view', 'bgp/1'))?.received).toBe('');
    });

    test('a dialer with TTL security gets no data of a peer that answers with TTL 64', async () => {
      await listening(b);
      await b.call('acceptWith', 'bgp', { ttl: 64 });
      await a.call('dial', 'strict', { ...peer, minimumTtl: 255 });
      await a.call('dial', 'easy', peer);
      await connected(b, 'bgp/0');
      await connected(b, 'bgp/1');
      for (const name of ['bgp/0', 'bgp/1']) await b.call('write', name, 'from afar');
      await received(a, 'easy', 'from afar');
      await sleep(silence);
      // The handshake succeeded, because a listening socket answers with TTL 255.
      expect((await a.call('view', 'strict'))?.events).toEqual([`connected ${ours}`]);
    });

    test('a connection without acknowledgements closes after the user timeout, in either direction', async () => {
      await listening(b);
      await a.call('dial', 'one', { ...peer, userTimeout: 1_000 });
      await connected(b, 'bgp/0');
      await dropInput('b');
      await a.call('write', 'one', 'anybody?');
      expect((await closed(a, 'one')).detail).toBe('the peer no longer acknowledges data, or does not read it');
      await clearRules('b');
      await b.call('acceptWith', 'bgp', { ttl: 255, userTimeout: 1_000 });
      await a.call('dial', 'two', peer);
      await connected(b, 'bgp/1');
      await dropInput('b');
      await b.call('write', 'bgp/1', 'anybody?');
      expect((await closed(b, 'bgp/1')).detail).toBe('the peer no longer acknowledges data, or does not read it');
    });

    test('a connection bound to an interface leaves by that interface, whatever the route says', async () => {
      const syn = 'tcp dport 179 tcp flags & (syn | ack) == syn';
      await count('b', { v0: `iifname v0 ${syn}`, v1: `iifname v1 ${syn}` });
      await listening(b);
      await a.call('dial', 'by route', peer);
      await connected(a, 'by route');
      const before = await counted('b');
      expect(before['v0']).toBeGreaterThan(0);
      expect(before['v1']).toBe(0);
      await a.call('dial', 'bound', { ...peer, interface: 'v1' });
      await until('a SYN arrives on v1, or none can be sent', async (note) => {
        const view = note(await a.call('view', 'bound'));
        return ((await counted('b'))['v1'] ?? 0) > 0 || view?.events.includes('closed: unreachable') === true;
      });
      expect((await counted('b'))['v0']).toBe(before['v0']);
    });

    test('a dial fails as unreachable when the host has no route to the peer', async () => {
      const elsewhere = family === 4 ? '192.0.2.9' : '2001:db8::9';
      await a.call('dial', 'one', { ...peer, address: elsewhere });
      expect((await closed(a, 'one')).events).toEqual(['closed: unreachable']);
    });

    test('a listener bound to one address accepts connections there only', async () => {
      await listening(b, theirs);
      await a.call('dial', 'one', peer);
      expect((await connected(b, 'bgp/0')).remote).toBe(ours);
      await a.call('dial', 'other family', { ...peer, address: addresses.b[family === 4 ? 6 : 4] });
      expect((await closed(a, 'other family')).events).toEqual(['closed: refused']);
    });
  });

  test('link-local connections are signed, and one address on two cables is two peers', async () => {
    await listening(b);
    await b.call('setKeys', 'bgp', { [addresses.a.linkLocal]: 'secret' });
    for (const cable of ['v0', 'v1']) {
      const to = { address: addresses.b.linkLocal, port: 179, ttl: 255, minimumTtl: 255, interface: cable, password: 'secret' };
      await a.call('dial', cable, to);
      await connected(a, cable);
      await a.call('write', cable, cable);
    }
    for (const index of [0, 1]) {
      const view = await until('b has received data', async () => {
        const view = await connected(b, `bgp/${index}`);
        return view.received === '' ? undefined : view;
      });
      expect(view).toMatchObject({ remote: addresses.a.linkLocal, interface: view.received });
    }
    await a.call('dial', 'from', {
      address: addresses.b.linkLocal,
      sourceAddress: addresses.a.linkLocal,
      port: 179,
      ttl: 255,
      interface: 'v1',
      password: 'secret',
    });
    await connected(a, 'from');
  });

  test('the error names net.core.optmem_max when the kernel has no room for many keys', async () => {
    await listening(b);
    const keys = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`10.${i >> 8}.${i & 255}.1`, 'secret']));
    const refused = await b.call('setKeys', 'bgp', keys);
    expect(refused.length).toBeGreaterThan(0);
    for (const words of refused) expect(words).toContain('net.core.optmem_max');
    expect(JSON.stringify(refused)).not.toContain('secret');
    expect(await b.call('setKeys', 'bgp', { [addresses.a[4]]: 'secret' })).toEqual([]);
  });

  test('the listener names CAP_NET_BIND_SERVICE when it is missing', async () => {
    const capability = '-net_bind_service';
    const poor = new TransportHost('b', 'setpriv', `--bounding-set=${capability}`, `--inh-caps=${capability}`);
    try {
      await poor.call('listen', 'bgp', 179);
      const failed = await until('listening fails', async () => (await poor.call('listener', 'bgp')).failed);
      expect(failed).toContain('forbids listening on port 179: grant CAP_NET_BIND_SERVICE');
    } finally {
      poor.stop();
    }
  });

  describe('without addresses', () => {
    const found = (host: TransportHost, router: string): Promise<unknown> =>
      until(`discovery finds ${router}`, async (note) => note(await host.call('discovered', 'v0')).found.at(-1) === router);
    const advertisement = '86000000000000000000000000000000';

    test('two Herald transports find each other and connect', async () => {
      await count('b', { advertisement: 'iifname v0 icmpv6 type nd-router-advert ip6 hoplimit 255 ip6 saddr fe80::a0' });
      await a.call('discover', 'v0');
      await b.call('discover', 'v0');
      await Promise.all([found(a, addresses.b.linkLocal), found(b, addresses.a.linkLocal)]);
      expect((await counted('b'))['advertisement']).toBeGreaterThan(0);
      await listening(b);
      await a.call('dial', 'one', { address: addresses.b.linkLocal, port: 179, ttl: 255, interface: 'v0' });
      expect(await connected(b, 'bgp/0')).toMatchObject({ remote: addresses.a.linkLocal, interface: 'v0' });
    });

    test('advertisements from another cable, forwarded or malformed ones find no peer; a good one does', async () => {
      const before = await b.call('descriptors');
      await b.call('discover', 'v0');
      await until('discovery has a socket', async (note) => note(await b.call('descriptors')) > before);
      await a.call('sendRouterMessage', 'v1', advertisement, 255);
      await a.call('sendRouterMessage', 'v0', advertisement, 254);
      await a.call('sendRouterMessage', 'v0', `${advertisement}0100000000000000`, 255);
      await a.call('sendRouterMessage', 'v0', advertisement.slice(0, -2), 255);
      await a.call('sendRouterMessage', 'v0', '8800000000000000', 255);
      await sleep(1_000);
      expect(await b.call('discovered', 'v0')).toEqual({ found: [], failed: undefined });
      await a.call('sendRouterMessage', 'v0', advertisement, 255);
      await found(b, addresses.a.linkLocal);
    });

    test('BGP-055 a hundred starts and stops of discovery leak no socket', async () => {
      const start = async (): Promise<void> => {
        await b.call('discover', 'v0');
        await sleep(5);
      };
      const before = await b.call('descriptors');
      await start();
      await until('discovery has a socket', async (note) => note(await b.call('descriptors')) > before);
      for (let round = 0; round < 100; round++) {
        await b.call('stopDiscovery', 'v0');
        await start();
      }
      await b.call('stopDiscovery', 'v0');
      await until('the sockets are closed', async (note) => note(await b.call('descriptors')) <= before);
    });

    test('discovery names a missing capability or interface, and finds peers on a later interface', async () => {
      const poor = new TransportHost('b', 'setpriv', '--bounding-set=-net_raw', '--inh-caps=-net_raw');
      try {
        await poor.call('discover', 'v0');
        await until(
          'discovery fails',
          async () => (await poor.call('discovered', 'v0')).failed === 'looking for a peer on v0 needs CAP_NET_RAW',
        );
      } finally {
        poor.stop();
      }
      await b.call('discover', 'late');
      await until('discovery fails', async () => (await b.call('discovered', 'late')).failed === 'there is no network interface late');
      await addCable('late');
      await until('discovery finds a router', async (note) => {
        await a.call('sendRouterMessage', 'late', advertisement, 255);
        return note(await b.call('discovered', 'late')).found.length > 0;
      });
      await removeCable('late');
      await until(
        'discovery reports the missing interface',
        async (note) => note(await b.call('discovered', 'late')).failed?.includes('late') === true,
      );
    });

    test('FRR and Herald find each other by router advertisements and accept connections', async () => {
      await startRouter(
        'b',
        `frr defaults datacenter
interface v0
 ipv6 nd ra-interval 10
 no ipv6 nd suppress-ra
router bgp 65001
 bgp router-id 10.98.0.2
 no bgp ebgp-requires-policy
 neighbor v0 interface remote-as external
 neighbor v0 timers connect 1
`,
      );
      await listening(a);
      await a.call('discover', 'v0');
      await found(a, addresses.b.linkLocal);
      await until('FRR knows our address', async (note) =>
        note(await vtysh('b', 'show bgp neighbors v0 json')).includes(addresses.a.linkLocal),
      );
      const marker = 'ff'.repeat(16);
      await until('FRR connects and sends its OPEN', async (note) => {
        const view = note(await a.call('view', 'bgp/0'));
        return view?.remote === addresses.b.linkLocal && view.interface === 'v0' && view.receivedHex.startsWith(marker);
      });
      await a.call('destroy', 'bgp/0');
      await until('FRR accepts us and sends its OPEN', async (note) => {
        await a.call('dial', 'one', { address: addresses.b.linkLocal, port: 179, ttl: 255, interface: 'v0' });
        // FRR ends one of two connections, perhaps this one. The next attempt then gets another chance.
        const view = await until('FRR sends data or ends the connection', async (note) => {
          const view = note(await a.call('view', 'one'));
          return (view?.receivedHex !== '' || view.events.some((event) => event.startsWith('closed'))) && view;
        });
        return note(view).receivedHex.startsWith(marker);
      });
    });
  });

  // This test is the last one, because it removes the IPv6 addresses.
  test('IPv4 still listens where IPv6 is disabled', async () => {
    const disabled = new TransportHost('b', 'sh', '-c', 'echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6; exec "$@"', 'sh');
    try {
      await disabled.call('listen', 'bgp', 1790);
      await until('the listener has its port', async (note) => note(await disabled.call('listener', 'bgp')).port === 1790);
      await a.call('dial', 'one', { address: addresses.b[4], port: 1790, ttl: 255 });
      await connected(a, 'one');
    } finally {
      disabled.stop();
    }
  });
});
