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
import type { ConnectionView, DialText } from './bgp-transport-host.ts';

let a: TransportHost;
let b: TransportHost;

/** Long enough for an answer that must not come; the kernel sends a second SYN after one second. */
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
  await until('it listens', async (note) => note(await host.call('listener', 'bgp')).port === 179);
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
    const peer: DialText = { address: theirs, port: 179, ttl: 255 };

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
    ] as const)('BGP-054 %s is silence, and is counted where it arrives', async (_, expected, sent, counter) => {
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

    test('a key for a prefix serves every address in it; the longer prefix decides', async () => {
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

    test('BGP-054 a live listener takes a key, another key and none; connections that exist live on', async () => {
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

    test('BGP-061 what both ends send has TTL 255 and traffic class CS6, from the SYN and the SYN/ACK on', async () => {
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
      // An acknowledgement may come while the kernel lists the counters.
      const settled = (host: 'a' | 'b'): Promise<Record<string, number>> =>
        until(`all that has come to ${host} is right`, async (note) => {
          const counts = note(await counted(host));
          return counts['right'] === counts['all'] && counts;
        });
      expect((await settled('a'))['synack']).toBeGreaterThan(0);
      expect((await settled('b'))['right']).toBeGreaterThan(2);
    });

    test('accepted connections send with the TTL that they were accepted with', async () => {
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

    test('TTL security: the listener hears a peer with TTL 255, and nothing of one with TTL 64', async () => {
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
      await until('what comes from afar was dropped', async (note) => {
        const after = note(await b.call('kernelDrops'));
        return (after?.belowMinimumTtl ?? Number.NaN) > (before?.belowMinimumTtl ?? Number.NaN);
      });
      expect((await b.call('view', 'bgp/1'))?.received).toBe('');
    });

    test('TTL security: whoever dials hears nothing of a peer that answers with TTL 64', async () => {
      await listening(b);
      await b.call('acceptWith', 'bgp', { ttl: 64 });
      await a.call('dial', 'strict', { ...peer, minimumTtl: 255 });
      await a.call('dial', 'easy', peer);
      await connected(b, 'bgp/0');
      await connected(b, 'bgp/1');
      for (const name of ['bgp/0', 'bgp/1']) await b.call('write', name, 'from afar');
      await received(a, 'easy', 'from afar');
      await sleep(silence);
      // The handshake passed, because a listening socket answers with 255.
      expect((await a.call('view', 'strict'))?.events).toEqual([`connected ${ours}`]);
    });

    test('a peer that no longer acknowledges is given up after the user timeout, in either direction', async () => {
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

    test('a connection that is bound to an interface leaves by that one, whatever the route says', async () => {
      const syn = 'tcp dport 179 tcp flags & (syn | ack) == syn';
      await count('b', { v0: `iifname v0 ${syn}`, v1: `iifname v1 ${syn}` });
      await listening(b);
      await a.call('dial', 'by route', peer);
      await connected(a, 'by route');
      const before = await counted('b');
      expect(before['v0']).toBeGreaterThan(0);
      expect(before['v1']).toBe(0);
      await a.call('dial', 'bound', { ...peer, interface: 'v1' });
      await until('a SYN comes in by v1, or none can be sent', async (note) => {
        const view = note(await a.call('view', 'bound'));
        return ((await counted('b'))['v1'] ?? 0) > 0 || view?.events.includes('closed: unreachable') === true;
      });
      expect((await counted('b'))['v0']).toBe(before['v0']);
    });

    test('says that this host has no address to connect from', async () => {
      const elsewhere = family === 4 ? '192.0.2.9' : '2001:db8::9';
      await a.call('dial', 'one', { ...peer, address: elsewhere });
      expect((await closed(a, 'one')).events).toEqual(['closed: unreachable']);
    });

    test('listens on one address, and there only', async () => {
      await listening(b, theirs);
      await a.call('dial', 'one', peer);
      expect((await connected(b, 'bgp/0')).remote).toBe(ours);
      await a.call('dial', 'other family', { ...peer, address: addresses.b[family === 4 ? 6 : 4] });
      expect((await closed(a, 'other family')).events).toEqual(['closed: refused']);
    });
  });

  test('link-local: dialed over the interface, accepted with its name, signed; the same address on another cable is another peer', async () => {
    await listening(b);
    await b.call('setKeys', 'bgp', { [addresses.a.linkLocal]: 'secret' });
    for (const cable of ['v0', 'v1']) {
      const to = { address: addresses.b.linkLocal, port: 179, ttl: 255, minimumTtl: 255, interface: cable, password: 'secret' };
      await a.call('dial', cable, to);
      await connected(a, cable);
      await a.call('write', cable, cable);
    }
    for (const index of [0, 1]) {
      const view = await until('it has received', async () => {
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

  test('many keys: the kernel runs out of room in words', async () => {
    await listening(b);
    const keys = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`10.${i >> 8}.${i & 255}.1`, 'secret']));
    const refused = await b.call('setKeys', 'bgp', keys);
    expect(refused.length).toBeGreaterThan(0);
    for (const words of refused) expect(words).toContain('net.core.optmem_max');
    expect(JSON.stringify(refused)).not.toContain('secret');
    expect(await b.call('setKeys', 'bgp', { [addresses.a[4]]: 'secret' })).toEqual([]);
  });

  test('without CAP_NET_BIND_SERVICE the listener says what to do', async () => {
    const capability = '-net_bind_service';
    const poor = new TransportHost('b', 'setpriv', `--bounding-set=${capability}`, `--inh-caps=${capability}`);
    try {
      await poor.call('listen', 'bgp', 179);
      const failed = await until('it fails', async () => (await poor.call('listener', 'bgp')).failed);
      expect(failed).toContain('forbids listening on port 179: grant CAP_NET_BIND_SERVICE');
    } finally {
      poor.stop();
    }
  });

  describe('without addresses', () => {
    const found = (host: TransportHost, router: string): Promise<unknown> =>
      until(`it finds ${router}`, async (note) => note(await host.call('discovered', 'v0')).found.at(-1) === router);
    const advertisement = '86000000000000000000000000000000';

    test('two of us find each other, and then connect', async () => {
      await count('b', { advertisement: 'iifname v0 icmpv6 type nd-router-advert ip6 hoplimit 255 ip6 saddr fe80::a0' });
      await a.call('discover', 'v0');
      await b.call('discover', 'v0');
      await Promise.all([found(a, addresses.b.linkLocal), found(b, addresses.a.linkLocal)]);
      expect((await counted('b'))['advertisement']).toBeGreaterThan(0);
      await listening(b);
      await a.call('dial', 'one', { address: addresses.b.linkLocal, port: 179, ttl: 255, interface: 'v0' });
      expect(await connected(b, 'bgp/0')).toMatchObject({ remote: addresses.a.linkLocal, interface: 'v0' });
    });

    test('an advertisement from another cable, a forwarded and a malformed one find nobody; a good one does', async () => {
      const before = await b.call('descriptors');
      await b.call('discover', 'v0');
      await until('it has a socket', async (note) => note(await b.call('descriptors')) > before);
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

    test('BGP-055 a hundred starts and stops leave no socket behind', async () => {
      const start = async (): Promise<void> => {
        await b.call('discover', 'v0');
        await sleep(5);
      };
      const before = await b.call('descriptors');
      await start();
      await until('it has a socket', async (note) => note(await b.call('descriptors')) > before);
      for (let round = 0; round < 100; round++) {
        await b.call('stopDiscovery', 'v0');
        await start();
      }
      await b.call('stopDiscovery', 'v0');
      await until('they are gone', async (note) => note(await b.call('descriptors')) <= before);
    });

    test('says that it may not, and that there is no such interface; finds the peer on one that comes later', async () => {
      const poor = new TransportHost('b', 'setpriv', '--bounding-set=-net_raw', '--inh-caps=-net_raw');
      try {
        await poor.call('discover', 'v0');
        await until('it fails', async () => (await poor.call('discovered', 'v0')).failed === 'looking for a peer on v0 needs CAP_NET_RAW');
      } finally {
        poor.stop();
      }
      await b.call('discover', 'late');
      await until('it fails', async () => (await b.call('discovered', 'late')).failed === 'there is no network interface late');
      await addCable('late');
      await until('it works', async (note) => {
        await a.call('sendRouterMessage', 'late', advertisement, 255);
        return note(await b.call('discovered', 'late')).found.length > 0;
      });
      await removeCable('late');
      await until('it is gone', async (note) => note(await b.call('discovered', 'late')).failed?.includes('late') === true);
    });

    test('FRR learns us from our advertisements, we learn FRR from its own, and each accepts the other', async () => {
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
        // FRR ends one of two connections, perhaps this one, and then another one has a chance.
        const view = await until('it sends, or ends the connection', async (note) => {
          const view = note(await a.call('view', 'one'));
          return (view?.receivedHex !== '' || view.events.some((event) => event.startsWith('closed'))) && view;
        });
        return note(view).receivedHex.startsWith(marker);
      });
    });
  });

  // The last one, because it takes the addresses away.
  test('where IPv6 is disabled, IPv4 still listens', async () => {
    const disabled = new TransportHost('b', 'sh', '-c', 'echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6; exec "$@"', 'sh');
    try {
      await disabled.call('listen', 'bgp', 1790);
      await until('it listens', async (note) => note(await disabled.call('listener', 'bgp')).port === 1790);
      await a.call('dial', 'one', { address: addresses.b[4], port: 1790, ttl: 255 });
      await connected(a, 'one');
    } finally {
      disabled.stop();
    }
  });
});
