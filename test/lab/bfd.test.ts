import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { SessionOptions } from '../../src/bfd/index.ts';
import { linuxTransport } from '../../src/bfd/transport/linux.ts';
import { address } from '../../src/net/address.ts';
import { inNetworkNamespace } from '../kube-fixture/network-namespace.ts';
import { BfdProcess } from '../peers/bfd-process.ts';
import { Link, linkLocalAddress, routerAddress, run, speakerAddress } from '../peers/link.ts';
import { sendForged, PacketWatch } from './bfd-packets.ts';
import { until } from './until.ts';

/** Herald's BFD at both ends of a link: the sockets, the thread, and the kernel's part. */
let link: Link;
let ours: BfdProcess;
let peer: BfdProcess;
const processes: BfdProcess[] = [];

beforeAll(() => {
  link = new Link('hb');
});
afterAll(() => link.close());
afterEach(async () => {
  await Promise.all(processes.splice(0).map((process) => process.kill()));
});

function start(
  namespace: string,
  ...args: ConstructorParameters<typeof BfdProcess> extends [string, ...infer Rest] ? Rest : never
): BfdProcess {
  const process = new BfdProcess(namespace, ...args);
  processes.push(process);
  return process;
}

const stateOf = async (process: BfdProcess, name?: string): Promise<string> => (await process.session(name)).state;

async function untilUp(...which: BfdProcess[]): Promise<void> {
  for (const process of which) await until('the session is up', async (note) => note(await stateOf(process)) === 'Up');
}

/** Returns the options of both ends of a session of each kind. */
type Ends = () => readonly [ours: Partial<SessionOptions> & { peer: string }, peer: Partial<SessionOptions> & { peer: string }];
const multihop = { multihop: { minimumTtl: 250 } };
const kinds: readonly (readonly [string, number, Ends])[] = [
  ['IPv4', 3784, () => [{ peer: routerAddress[4] }, { peer: speakerAddress[4] }]],
  ['IPv6', 3784, () => [{ peer: routerAddress[6] }, { peer: speakerAddress[6], localAddress: routerAddress[6] }]],
  [
    'IPv6 link-local',
    3784,
    () => [
      { peer: linkLocalAddress(link.router), interface: 'v0' },
      { peer: linkLocalAddress(link.speaker), interface: 'v0' },
    ],
  ],
  [
    'multihop IPv4',
    4784,
    () => [
      { peer: routerAddress[4], ...multihop },
      { peer: speakerAddress[4], ...multihop },
    ],
  ],
  [
    'multihop IPv6',
    4784,
    () => [
      { peer: routerAddress[6], ...multihop },
      { peer: speakerAddress[6], ...multihop },
    ],
  ],
];

/** With these intervals a session stays up when one of the processes, or the machine, is suspended for seconds. */
const slowDetection = { transmitInterval: 100, receiveInterval: 100, detectMultiplier: 100 };

async function connect(ends: Ends, options: Partial<SessionOptions> = slowDetection): Promise<void> {
  ours = start(link.speaker);
  peer = start(link.router);
  const [mine, theirs] = ends();
  expect(await ours.set({ name: 'x', ...options, ...mine })).toEqual([]);
  expect(await peer.set({ name: 'x', ...options, ...theirs })).toEqual([]);
  await untilUp(ours, peer);
}

describe.each(kinds)('over %s', (_, port, ends) => {
  test('BFD-003 BFD-004 BFD-026 the session comes up; packets leave with TTL 255 from one port above 49151', async () => {
    const watch = new PacketWatch(link.router);
    try {
      await connect(ends);
      await until('more packets are counted', async () => (await ours.session()).counters.sent > 8);
      const seen = watch.seen();
      expect(seen).toMatchObject([{ ttl: 255, port }]);
      expect(seen[0]?.sourcePort).toBeGreaterThanOrEqual(49_152);
    } finally {
      watch.close();
    }
  });

  test('BFD-016 both ends notice a cut link, and the session returns with the link', async () => {
    await connect(ends, { transmitInterval: 100, receiveInterval: 100, detectMultiplier: 3 });
    const restore = link.dropEverything();
    await until('both ends are down', async (note) => note([await stateOf(ours), await stateOf(peer)]).every((state) => state === 'Down'));
    restore();
    await untilUp(ours, peer);
  });
});

test('BFD-003 no two sessions send from one port, even with other addresses or on other interfaces', async () => {
  const watch = new PacketWatch(link.router);
  // Several sessions would choose the same port.
  const randoms = [0.5, 0.5, 0.5, 0.25, 0.125];
  const transport = linuxTransport(() => randoms.shift() ?? 0);
  if (transport === undefined) throw new Error('koffi has no binary for this machine');
  transport.listen({ received: () => {}, timeToSpare: () => 0 });
  try {
    inNetworkNamespace(link.speaker, () => {
      const [ipv4, ipv6] = [4, 6].map((family) => address(routerAddress[family as 4 | 6]));
      if (ipv4 === undefined || ipv6 === undefined) throw new Error('no address');
      const endpoints = [
        { peer: ipv4 },
        { peer: ipv6, localAddress: address(speakerAddress[6]) },
        { peer: ipv4, localAddress: address(speakerAddress[4]), interface: 'v0' },
      ];
      const channels = endpoints.map((endpoint) => transport.open(endpoint));
      for (const channel of channels) expect(channel.send(new Uint8Array(24))).toBeUndefined();
      for (const channel of channels) channel.close();
    });
    await until('packets have come from three ports', async (note) => note(watch.seen()).length === 3);
  } finally {
    transport.close();
    watch.close();
  }
});

describe('packets that claim to come from a peer', () => {
  /** Returns a packet that ends the session if it is accepted. */
  const goodbye = async (): Promise<{ readonly state: 'Down'; readonly myDiscriminator: number; readonly yourDiscriminator: number }> => {
    const { discriminator, remote } = await ours.session();
    return { state: 'Down', myDiscriminator: remote.discriminator, yourDiscriminator: discriminator };
  };
  const downs = async (): Promise<number> => (await ours.session()).counters.downs;
  const drops = async (): Promise<number> => (await ours.status()).kernelDrops ?? -1;

  test.each([
    ['IPv4', kinds[0]?.[2], speakerAddress[4]],
    ['IPv6', kinds[1]?.[2], speakerAddress[6]],
  ] as const)('BFD-004 BFD-005 over %s the kernel drops packets that have crossed a router', async (_, ends, to) => {
    if (ends === undefined) throw new Error('no such kind');
    await connect(ends);
    const packet = await goodbye();
    const before = await drops();
    for (const ttl of [254, 1, 64]) sendForged(link.router, { to, port: 3784, ttl, packet });
    await until('the kernel has counted the dropped packets', async (note) => note(await drops()) === before + 3);
    expect(await downs()).toBe(0);
    sendForged(link.router, { to, port: 3784, ttl: 255, packet });
    await until('the same packet with TTL 255 is accepted', async () => (await downs()) === 1);
  });

  test.each([
    ['IPv4', kinds[3]?.[2], speakerAddress[4], '10.99.0.77/24'],
    ['IPv6', kinds[4]?.[2], speakerAddress[6], 'fd99::77/64'],
  ] as const)(
    'BFD-004 BFD-005 over multihop %s each peer has its own minimum TTL, and strangers are dropped',
    async (_, ends, to, stranger) => {
      if (ends === undefined) throw new Error('no such kind');
      await connect(ends);
      // Adds one peer before and one behind this one in the filter.
      const [{ peer: address }] = ends();
      const other = (last: number) => ({ name: `o${last}`, peer: `${address.slice(0, -1)}${last}`, multihop: { minimumTtl: 10 } });
      await ours.set(other(3), { name: 'x', peer: address, ...multihop, ...slowDetection }, other(4));
      const packet = await goodbye();
      const before = await drops();
      sendForged(link.router, { to, port: 4784, ttl: 249, packet });
      run('ip', '-n', link.router, 'addr', 'add', stranger, 'dev', 'v0', ...(stranger.includes(':') ? ['nodad'] : []));
      try {
        sendForged(link.router, { from: stranger.split('/')[0] ?? '', to, port: 4784, ttl: 255, packet });
        await until('the kernel has counted the dropped packets', async (note) => note(await drops()) === before + 2);
        expect((await ours.session('x')).counters.downs).toBe(0);
        sendForged(link.router, { to, port: 4784, ttl: 250, packet });
        await until('the same packet with TTL 250 is accepted', async () => (await ours.session('x')).counters.downs === 1);
      } finally {
        run('ip', '-n', link.router, 'addr', 'del', stranger, 'dev', 'v0');
      }
    },
  );

  test('BFD-004 a changed minimum TTL applies to a running session', async () => {
    const [, , ends] = kinds[3] ?? [];
    if (ends === undefined) throw new Error('no such kind');
    await connect(ends);
    const before = await ours.session();
    const [{ peer: address }] = ends();
    const packet = await goodbye();
    await ours.set({ name: 'x', peer: address, multihop: { minimumTtl: 200 }, ...slowDetection });
    // Neither end noticed the change.
    await until('more packets are counted', async () => (await ours.session()).counters.received > before.counters.received + 3);
    expect(await ours.session()).toMatchObject({ state: 'Up', since: before.since, discriminator: before.discriminator });
    const dropped = await drops();
    sendForged(link.router, { to: speakerAddress[4], port: 4784, ttl: 199, packet });
    await until('the kernel has counted the dropped packet', async (note) => note(await drops()) === dropped + 1);
    expect(await downs()).toBe(0);
    sendForged(link.router, { to: speakerAddress[4], port: 4784, ttl: 200, packet });
    await until('a packet with the new minimum TTL is accepted', async () => (await downs()) === 1);
  });

  test.each([false, true])('the problem names a program that occupies the port, and clears when it ends; passive: %s', async (passive) => {
    const first = start(link.speaker);
    await first.set({ name: 'x', peer: routerAddress[4] });
    ours = start(link.speaker);
    peer = start(link.router);
    await ours.set({ name: 'x', peer: routerAddress[4], passive });
    await peer.set({ name: 'x', peer: speakerAddress[4] });
    expect((await ours.session()).problem).toContain('another program has UDP port 3784');
    await first.kill();
    await untilUp(ours);
    expect((await ours.session()).problem).toBeUndefined();
  });

  test('BFD-026 a session of one interface and a session of all interfaces coexist', async () => {
    ours = start(link.speaker);
    peer = start(link.router);
    const local = [linkLocalAddress(link.router), linkLocalAddress(link.speaker)] as const;
    // The two ends open the sessions in opposite orders.
    await ours.set({ name: 'all', peer: routerAddress[6] }, { name: 'one', peer: local[0], interface: 'v0' });
    await peer.set({ name: 'one', peer: local[1], interface: 'v0' }, { name: 'all', peer: speakerAddress[6] });
    for (const process of [ours, peer]) {
      for (const name of ['all', 'one']) await until(`${name} is up`, async () => (await stateOf(process, name)) === 'Up');
    }
  });
});

test.each([
  [4, false],
  [4, true],
  [6, false],
  [6, true],
] as const)('BFD-026 a session over IPv%i returns after its interface was replaced; passive: %s', async (family, passive) => {
  const own = new Link('hb');
  const takeAway = (): string => run('ip', '-n', own.router, 'link', 'del', 'v0');
  const makeAnew = (): void => {
    run('ip', 'link', 'add', 'v0', 'netns', own.router, 'type', 'veth', 'peer', 'name', 'v0', 'netns', own.speaker);
    const length = family === 4 ? 24 : 64;
    run('ip', '-n', own.router, 'addr', 'add', `${routerAddress[family]}/${length}`, 'dev', 'v0');
    run('ip', '-n', own.speaker, 'addr', 'add', `${speakerAddress[family]}/${length}`, 'dev', 'v0');
    for (const namespace of [own.router, own.speaker]) run('ip', '-n', namespace, 'link', 'set', 'v0', 'up');
  };
  try {
    ours = start(own.speaker);
    peer = start(own.router);
    await ours.set({ name: 'x', peer: routerAddress[family], interface: 'v0', passive });
    // The interface is replaced before the other end sends. A passive session notices by itself, because it sends nothing that could
    // fail.
    takeAway();
    makeAnew();
    await peer.set({ name: 'x', peer: speakerAddress[family], interface: 'v0' });
    await untilUp(ours, peer);
    takeAway();
    for (const end of [ours, peer]) await until('the session is no longer Up', async (note) => note(await stateOf(end)) !== 'Up');
    await until('the problem names the missing interface', async (note) =>
      note(await ours.session()).problem?.includes('there is no network interface v0'),
    );
    makeAnew();
    await untilUp(ours, peer);
    expect((await ours.session()).problem).toBeUndefined();
  } finally {
    await Promise.all(processes.splice(0).map((process) => process.kill()));
    own.close();
  }
});

describe('the thread', () => {
  const [, , ipv4] = kinds[0] ?? [];

  test('BFD-028 no session ends while the main thread is blocked for longer than the detection time', async () => {
    if (ipv4 === undefined) throw new Error('no such kind');
    await connect(ipv4, { transmitInterval: 100, receiveInterval: 100, detectMultiplier: 50 });
    await peer.changes();
    await ours.call('block', 8_000);
    const [{ counters }, changes] = [await ours.session(), await peer.changes()];
    expect(counters.downs).toBe(0);
    expect(changes).toEqual([]);
  });

  test('BFD-029 ten sessions at 50 ms keep their pace, none too fast and none behind the others', async () => {
    const own = new Link('hb');
    const ends = Array.from({ length: 10 }, (_, i) => ({ mine: `10.99.0.${i + 20}`, theirs: `10.99.0.${i + 120}` }));
    try {
      for (const { mine, theirs } of ends) {
        run('ip', '-n', own.speaker, 'addr', 'add', `${mine}/24`, 'dev', 'v0');
        run('ip', '-n', own.router, 'addr', 'add', `${theirs}/24`, 'dev', 'v0');
      }
      ours = start(own.speaker, { realTime: true });
      peer = start(own.router, { realTime: true });
      const fast = { transmitInterval: 50, receiveInterval: 50, detectMultiplier: 200 };
      await ours.set(...ends.map(({ mine, theirs }) => ({ name: mine, localAddress: mine, peer: theirs, ...fast })));
      await peer.set(...ends.map(({ mine, theirs }) => ({ name: mine, localAddress: theirs, peer: mine, ...fast })));
      const upAndFast = async (): Promise<boolean> => {
        const sessions = [...(await ours.status()).sessions, ...(await peer.status()).sessions];
        return sessions.every(({ state, polling, transmitInterval }) => state === 'Up' && !polling && transmitInterval === 50);
      };
      await until('all sessions are up', upAndFast);
      const counts = async (): Promise<number[]> => (await ours.status()).sessions.map(({ counters }) => counters.sent);
      const [began, before] = [performance.now(), await counts()];
      const sent = await until('each session has sent a hundred packets', async (note) => {
        const sent = note((await counts()).map((count, i) => count - (before[i] ?? 0)));
        return sent.every((count) => count >= 100) && sent;
      });
      const took = performance.now() - began;
      console.info(
        `mean time between packets at 50 ms, less jitter: ${(took / Math.max(...sent)).toFixed(1)} to ${(took / Math.min(...sent)).toFixed(1)} ms`,
      );
      // Late packets are not caught up: two packets are at least three quarters of the interval apart (RFC 5880 6.8.7).
      expect(took / Math.max(...sent)).toBeGreaterThan(37);
      // All have the same mean of 44 ms. A hundred random jitters make a difference of two or three packets.
      expect(Math.max(...sent) - Math.min(...sent)).toBeLessThan(15);
      for (const { counters } of [...(await ours.status()).sessions, ...(await peer.status()).sessions]) expect(counters.downs).toBe(0);
    } finally {
      await Promise.all(processes.splice(0).map((process) => process.kill()));
      own.close();
    }
  });

  test('BFD-031 the thread has real-time priority when it is permitted', async () => {
    ours = start(link.speaker, { realTime: true });
    expect(await ours.call('started')).toBe(true);
    await ours.set({ name: 'x', peer: routerAddress[4], transmitInterval: 50 });
    expect((await ours.session()).warnings).toEqual([]);
  });

  test('BFD-031 BFD-030 the thread runs without real-time priority and warns about short intervals', async () => {
    const unprivileged = ['setpriv', '--bounding-set=-sys_nice', '--inh-caps=-sys_nice'];
    ours = start(link.speaker, { realTime: true }, unprivileged);
    expect(await ours.call('started')).toBe(false);
    await ours.set({ name: 'x', peer: routerAddress[4], transmitInterval: 50 });
    peer = start(link.router);
    await peer.set({ name: 'x', peer: speakerAddress[4] });
    await untilUp(ours);
    expect((await ours.session()).warnings).toHaveLength(1);
  });

  test('BFD-020 stop sends AdminDown, which the peer does not count as a loss', async () => {
    if (ipv4 === undefined) throw new Error('no such kind');
    await connect(ipv4);
    await ours.call('stop');
    await until('the peer has received AdminDown', async (note) => note((await peer.session()).remote.state) === 'AdminDown');
    expect((await peer.changes()).at(-1)).toMatchObject({ to: 'Down', remoteState: 'AdminDown', remoteDiagnostic: 7 });
  });

  test('calls return no sessions while the thread stops and after it has stopped', async () => {
    if (ipv4 === undefined) throw new Error('no such kind');
    await connect(ipv4);
    // The peer's packets are dropped, so that stop waits for the detection time.
    const restore = link.dropEverything();
    try {
      const stopped = ours.call('stop');
      expect((await ours.status()).sessions).toEqual([]);
      expect(await ours.set({ name: 'late', peer: routerAddress[4] })).toEqual([]);
      await stopped;
      expect((await ours.status()).sessions).toEqual([]);
      expect(await ours.call('history', 'x')).toEqual([]);
    } finally {
      restore();
    }
  });

  test('BFD-021 the peer detects a killed process as a loss', async () => {
    if (ipv4 === undefined) throw new Error('no such kind');
    await connect(ipv4);
    await ours.kill();
    await until('the peer has detected the loss', async () => (await stateOf(peer)) === 'Down');
    expect((await peer.changes()).at(-1)).toMatchObject({ from: 'Up', to: 'Down', diagnostic: 1, remoteState: 'Up' });
  });
});
