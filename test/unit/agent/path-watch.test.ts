import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import { RouteTable } from '../../../src/agent/route-table.ts';
import { Sessions } from '../../../src/agent/sessions.ts';
import { Speaker } from '../../../src/bgp/index.ts';
import { BfdUnavailableError } from '../../../src/bfd/index.ts';
import { peersOfNode } from '../../../src/decisions/announcement/peers.ts';
import { silentLog } from '../../../src/system/log.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';
import { bfdProfile, cluster, type BfdProfileLiteral, type PeerLiteral } from '../decisions/fixtures.ts';
import { FakeBfd } from './fake-bfd.ts';
import { Routers } from './routers.ts';
import { basics, testbed } from './testbed.ts';

const tor1 = { name: 'tor1', peerAddress: '10.0.0.254', bfdProfile: 'fast' };
const fast = { name: 'fast', transmitInterval: 50, receiveInterval: 60, detectMultiplier: 5 };

let clock: VirtualClock;
let routers: Routers;
let bfd: FakeBfd;
let started: number;
let sessions: Sessions;
let news: number;

beforeEach(() => {
  clock = new VirtualClock();
  routers = new Routers(clock);
  bfd = new FakeBfd();
  started = 0;
  news = 0;
  sessions = newSessions(() => bfd);
});

function newSessions(start: () => FakeBfd): Sessions {
  const speaker = new Speaker({ clock, random: () => 0.5, transport: routers.transport });
  const startBfd = (): FakeBfd => {
    started++;
    return start();
  };
  return new Sessions({ speaker, clock, log: silentLog, startBfd }, new RouteTable(), () => void news++);
}

async function reconcile(peers: readonly PeerLiteral[], bfdProfiles: readonly BfdProfileLiteral[] = [fast]): Promise<void> {
  sessions.start(cluster({ nodes: [{ name: 'n1' }], peers, bfdProfiles }), 'n1');
  await exchange();
}

/** Time for promises and the wire. */
async function exchange(milliseconds = 0): Promise<void> {
  for (let i = 0; i < 3; i++) {
    routers.exchange();
    await setImmediate();
  }
  clock.advance(milliseconds);
  for (let i = 0; i < 3; i++) {
    routers.exchange();
    await setImmediate();
  }
}

const status = () => sessions.status()[0];

/** As BFD is once both ends have heard each other. */
async function bothUp(): Promise<void> {
  await reconcile([tor1]);
  bfd.move('tor1', 'Init', 'Up', 'Up');
}

describe('which ways are watched', () => {
  test('those of peers with a profile, by its intervals; the thread is not started for others', async () => {
    await reconcile([{ name: 'tor1' }]);
    expect(started).toBe(0);
    await reconcile([tor1, { name: 'tor2', peerAddress: '10.0.0.253' }]);
    expect([...bfd.sessions.values()]).toEqual([
      { name: 'tor1', peer: '10.0.0.254', transmitInterval: 50, receiveInterval: 60, detectMultiplier: 5, passive: false },
    ]);
  });

  test.each<readonly [string, Partial<PeerLiteral>, object]>([
    ['an external peer that may be several hops away', { ebgpMultiHop: true }, { multihop: { minimumTtl: 250 } }],
    ['a peer with TTL security over several hops', { ttlSecurityHops: 2 }, { multihop: { minimumTtl: 250 } }],
    ['a peer on an interface', { peerAddress: 'fe80::1', interface: 'eth1' }, { peer: 'fe80::1', interface: 'eth1' }],
  ])('%s', async (_, change, expected) => {
    await reconcile([{ ...tor1, ...change }], [{ ...fast, minimumTtl: 250 }]);
    expect(bfd.sessions.get('tor1')).toMatchObject(expected);
  });

  test('TTL security with one hop is the way to a neighbour', async () => {
    await reconcile([{ ...tor1, ttlSecurityHops: 1 }]);
    expect(bfd.sessions.get('tor1')).not.toHaveProperty('multihop');
  });

  test('a peer without BFD is not watched, nor one that is shut down; another profile applies to the session that runs', async () => {
    await reconcile([tor1]);
    await reconcile([tor1], [{ ...fast, transmitInterval: 1000 }]);
    expect(bfd.sessions.get('tor1')).toMatchObject({ transmitInterval: 1000 });
    await reconcile([{ ...tor1, adminDown: true }]);
    expect(bfd.sessions.size).toBe(0);
    await reconcile([tor1]);
    await reconcile([]);
    expect(bfd.sessions.size).toBe(0);
    expect(started).toBe(1);
  });

  test('the same again asks for nothing', async () => {
    await reconcile([tor1]);
    await reconcile([tor1]);
    expect(bfd.asked).toBe(1);
  });

  test('a missing profile is said, and the session runs without BFD', async () => {
    await reconcile([{ ...tor1, bfdProfile: 'gone' }]);
    expect(status()).toMatchObject({
      state: 'Established',
      lastError: 'BFDProfile "gone" of "tor1" does not exist: a session that was watched goes on so, any other runs without BFD',
    });
    expect(started).toBe(0);
    const [peer] = peersOfNode(cluster({ nodes: [{ name: 'n1' }], peers: [tor1] }), 'n1');
    expect(peer?.result).toMatchObject({ missingProfile: 'fast' });
  });

  test('a session that runs goes on being watched when its profile is deleted: to stop would close it on FRR 8', async () => {
    await reconcile([tor1]);
    await reconcile([tor1], []);
    expect(bfd.sessions.get('tor1')).toMatchObject({ transmitInterval: fast.transmitInterval });
    expect(status()?.lastError).toContain('does not exist');
    await reconcile([tor1], [{ ...fast, transmitInterval: 700 }]);
    expect(bfd.sessions.get('tor1')).toMatchObject({ transmitInterval: 700 });
    expect(status()).not.toHaveProperty('lastError');
    await reconcile([{ ...tor1, adminDown: true }], []);
    expect(bfd.sessions.size).toBe(0);
  });

  test('a host that cannot have BFD says so, and BGP runs', async () => {
    sessions = newSessions(() => {
      throw new BfdUnavailableError();
    });
    await reconcile([tor1]);
    expect(status()).toMatchObject({ state: 'Established', bfd: { state: 'Down' } });
    expect(status()?.lastError).toContain('runs without BFD: BFD needs Linux');
  });

  test('what BFD refuses, and what keeps it from receiving, is said until it is over', async () => {
    bfd.refuses.set('tor1', 'no such thing');
    await reconcile([tor1]);
    expect(status()?.lastError).toContain('no such thing');
    bfd.problems.set('tor1', 'another program has UDP port 3784');
    await exchange(10_000);
    expect(status()?.lastError).toContain('UDP port 3784');
    bfd.problems.clear();
    bfd.refuses.clear();
    await reconcile([tor1], [{ ...fast, transmitInterval: 100 }]);
    expect(status()?.lastError).toBeUndefined();
  });
});

describe('what becomes of BGP', () => {
  test('BFD-022 the session does not wait for BFD that never came up', async () => {
    await reconcile([tor1]);
    bfd.move('tor1', 'Down', 'Init', 'Down');
    bfd.move('tor1', 'Init', 'Down', 'Init', 1);
    await exchange();
    expect(status()).toMatchObject({ state: 'Established', bfd: { state: 'Down', reason: 'control detection time expired' } });
  });

  test('BFD-021 a lost way closes the session with Cease / BFD Down, and is told', async () => {
    await bothUp();
    expect(status()?.bfd).toEqual({ state: 'Up', since: new Date(0).toISOString() });
    const before = news;
    bfd.move('tor1', 'Up', 'Down', 'Up', 1);
    await exchange();
    expect(routers.notifications).toEqual(['10.0.0.254 Cease: BFD Down (6/10)']);
    expect(status()).toMatchObject({ state: 'Idle', bfd: { state: 'Down', reason: 'control detection time expired' } });
    expect(news).toBeGreaterThan(before);
  });

  test('BFD-022 the session is back when BFD is, and not before', async () => {
    await bothUp();
    bfd.move('tor1', 'Up', 'Down', 'Down', 3);
    await exchange(500);
    expect(status()?.state).toBe('Idle');
    bfd.move('tor1', 'Init', 'Up', 'Up');
    await exchange(100);
    expect(status()?.state).toBe('Established');
  });

  test('BFD-022 a peer whose BFD does not come back is waited for a second, as it may come with BGP only', async () => {
    await bothUp();
    bfd.move('tor1', 'Up', 'Down', 'Up', 1);
    await exchange(999);
    expect(status()?.state).toBe('Idle');
    await exchange(1);
    await exchange(6_000);
    expect(status()?.state).toBe('Established');
  });

  test('BFD-020 a peer that shuts its BFD down keeps its session', async () => {
    await bothUp();
    bfd.move('tor1', 'Up', 'Down', 'AdminDown', 3);
    await exchange();
    expect(status()).toMatchObject({ state: 'Established', bfd: { state: 'Down', reason: 'the peer has it shut down (no diagnostic)' } });
  });

  test('a session that waits is let go when its peer has no BFD any more', async () => {
    await bothUp();
    bfd.move('tor1', 'Up', 'Down', 'Up', 1);
    await exchange();
    const { bfdProfile: _, ...without } = tor1;
    await reconcile([without]);
    await exchange(100);
    expect(status()).toMatchObject({ state: 'Established' });
    expect(status()).not.toHaveProperty('bfd');
  });

  test('what is said of a session that is wanted no more is not heard', async () => {
    await bothUp();
    await reconcile([{ name: 'tor1', peerAddress: '10.0.0.254' }]);
    bfd.move('tor1', 'Up', 'Down', 'Up', 1);
    await exchange();
    expect(status()?.state).toBe('Established');
  });
});

describe('the agent', () => {
  test('BFD-020 says AdminDown when it stops, after it has closed BGP', async () => {
    const { agent, takeLog, settle, source } = testbed([...basics, bfdProfile(fast)]);
    await agent.start();
    const [peer] = [...source.snapshot.peers.values()];
    if (peer === undefined) throw new Error('there is no peer');
    source.put({ ...peer, bfdProfile: 'fast' });
    await settle();
    takeLog();
    await agent.stop('upgrade');
    expect(takeLog()).toEqual(['stop for restart: upgrade', 'AdminDown', 'data plane closed']);
  });

  test('takes over another BFDProfile while it runs', async () => {
    const { agent, bfd, settle, source } = testbed([...basics, bfdProfile(fast)]);
    await agent.start();
    const [peer] = [...source.snapshot.peers.values()];
    if (peer === undefined) throw new Error('there is no peer');
    source.put({ ...peer, bfdProfile: 'fast' });
    await settle();
    source.put(bfdProfile({ ...fast, transmitInterval: 999 }));
    await settle();
    expect(bfd.sessions.get('tor1')?.transmitInterval).toBe(999);
  });
});
