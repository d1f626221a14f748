import { beforeEach, describe, expect, test } from 'vitest';
import { BfdUnavailableError } from '../../../../src/bfd/index.ts';
import { peersOfNode } from '../../../../src/decisions/announcement/peers.ts';
import { address } from '../../../../src/net/address.ts';
import { bfdProfile, cluster, type PeerLiteral } from '../../decisions/fixtures.ts';
import type { FakeBfd } from '../fakes/fake-bfd.ts';
import type { Routers } from '../fakes/routers.ts';
import { basics, testbed } from '../testbed.ts';
import { fast, BfdTestbed } from './bfd-testbed.ts';

const tor1 = { name: 'tor1', peerAddress: '10.0.0.254', bfdProfile: 'fast' };

let bed: BfdTestbed;
let bfd: FakeBfd;
let routers: Routers;

beforeEach(() => {
  begin(new BfdTestbed());
});

function begin(next: BfdTestbed): void {
  bed = next;
  ({ bfd, routers } = bed);
}

const reconcile: BfdTestbed['reconcile'] = (...args) => bed.reconcile(...args);
const exchange = (milliseconds = 0): Promise<void> => bed.exchange(milliseconds);
const status = () => bed.status();
/** Why the session that is up has no BFD. */
const problem = (): unknown => {
  const { warning } = status() ?? {};
  return warning?.code === 'BFDNotPossible' ? warning.details.problem : undefined;
};

/** Both ends have heard each other. */
async function bothUp(): Promise<void> {
  await reconcile([tor1]);
  bfd.move('tor1', 'Init', 'Up', 'Up');
}

test('an established session reports BFDDown when BFD does not come up with it, and no longer when it does', async () => {
  await reconcile([tor1]);
  await exchange(5_000);
  expect(status()).toMatchObject({ state: 'Established', bfd: { state: 'Down' } });
  expect(status()).not.toHaveProperty('warning');
  await exchange(10_000);
  expect(status()).toMatchObject({ state: 'Established', warning: { code: 'BFDDown', details: { tcpWorks: true, profile: 'fast' } } });
  bfd.move('tor1', 'Init', 'Up', 'Up');
  await exchange(100);
  expect(status()).not.toHaveProperty('warning');
});

describe('monitored paths', () => {
  test('peers with a profile are monitored at its intervals; without any the thread does not start', async () => {
    await reconcile([{ name: 'tor1' }]);
    expect(bed.started).toBe(0);
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

  test('TTL security with one hop is a single-hop path', async () => {
    await reconcile([{ ...tor1, ttlSecurityHops: 1 }]);
    expect(bfd.sessions.get('tor1')).not.toHaveProperty('multihop');
  });

  test('a peer without BFD or shut down is not monitored; a new profile applies to the running session', async () => {
    await reconcile([tor1]);
    await reconcile([tor1], [{ ...fast, transmitInterval: 1000 }]);
    expect(bfd.sessions.get('tor1')).toMatchObject({ transmitInterval: 1000 });
    await reconcile([{ ...tor1, adminDown: true }]);
    expect(bfd.sessions.size).toBe(0);
    await reconcile([tor1]);
    await reconcile([]);
    expect(bfd.sessions.size).toBe(0);
    expect(bed.started).toBe(1);
  });

  test('unchanged sessions cause no request', async () => {
    await reconcile([tor1]);
    await reconcile([tor1]);
    expect(bfd.asked).toBe(1);
  });

  test('a missing profile is reported, and the session runs without BFD', async () => {
    await reconcile([{ ...tor1, bfdProfile: 'gone' }]);
    expect(status()).toMatchObject({
      state: 'Established',
      warning: { code: 'BFDProfileMissing', details: { profile: 'gone' } },
    });
    expect(bed.started).toBe(0);
    const [peer] = peersOfNode(cluster({ nodes: [{ name: 'n1' }], peers: [tor1] }), 'n1');
    expect(peer?.result).toMatchObject({ missingProfile: 'fast' });
  });

  test('a running session stays monitored when its profile is deleted: an end would close it on FRR 8', async () => {
    await reconcile([tor1]);
    await reconcile([tor1], []);
    expect(bfd.sessions.get('tor1')).toMatchObject({ transmitInterval: fast.transmitInterval });
    expect(status()?.warning).toMatchObject({ code: 'BFDProfileMissing' });
    await reconcile([tor1], [{ ...fast, transmitInterval: 700 }]);
    expect(bfd.sessions.get('tor1')).toMatchObject({ transmitInterval: 700 });
    expect(status()?.warning?.code).not.toBe('BFDProfileMissing');
    await reconcile([{ ...tor1, adminDown: true }], []);
    expect(bfd.sessions.size).toBe(0);
  });

  test('a host that cannot run BFD reports so, and BGP runs', async () => {
    const none = (): FakeBfd => {
      throw new BfdUnavailableError();
    };
    begin(new BfdTestbed(none));
    await reconcile([tor1]);
    expect(status()).toMatchObject({ state: 'Established', bfd: { state: 'Down' } });
    expect(problem()).toContain('BFD needs Linux');
  });

  test('a refusal of BFD and a failure to receive are reported until they end', async () => {
    bfd.refuses.set('tor1', 'no such thing');
    await reconcile([tor1]);
    expect(problem()).toContain('no such thing');
    bfd.problems.set('tor1', 'another program has UDP port 3784');
    await exchange(10_000);
    expect(problem()).toContain('UDP port 3784');
    bfd.problems.clear();
    bfd.refuses.clear();
    await reconcile([tor1], [{ ...fast, transmitInterval: 100 }]);
    expect(problem()).toBeUndefined();
  });
});

test('BFD-030 BFD-031 an unsafe session is reported with a warning', async () => {
  const warning = 'transmitInterval 50 ms without real-time priority: a busy machine may make the session flap';
  bfd.warnings.set('tor1', [warning]);
  await bothUp();
  expect(status()?.bfd).toMatchObject({ state: 'Up', warning });
  expect(problem()).toBeUndefined();
  bfd.warnings.clear();
  await reconcile([tor1], [{ ...fast, transmitInterval: 100 }]);
  expect(status()?.bfd).not.toHaveProperty('warning');
});

test('a refusal of BFD is reported for as long as it lasts', async () => {
  bfd.refuses.set('tor1', 'no such thing');
  await reconcile([tor1]);
  await exchange(60_000);
  expect(problem()).toContain('no such thing');
});

describe('the effect of BFD on BGP', () => {
  test('BFD-022 a session does not wait for BFD that never came up', async () => {
    await reconcile([tor1]);
    bfd.move('tor1', 'Down', 'Init', 'Down');
    bfd.move('tor1', 'Init', 'Down', 'Init', 1);
    await exchange();
    expect(status()).toMatchObject({ state: 'Established', bfd: { state: 'Down', reason: 'control detection time expired' } });
  });

  test('BFD-021 a lost path closes the session with Cease / BFD Down and is reported', async () => {
    await bothUp();
    expect(status()?.bfd).toEqual({ state: 'Up', since: new Date(0).toISOString() });
    const before = bed.statusChanges;
    bfd.move('tor1', 'Up', 'Down', 'Up', 1);
    await exchange();
    expect(routers.notifications).toEqual(['10.0.0.254 Cease: BFD Down (6/10)']);
    expect(status()).toMatchObject({ state: 'Idle', bfd: { state: 'Down', reason: 'control detection time expired' } });
    expect(bed.statusChanges).toBeGreaterThan(before);
  });

  test('BFD-022 the session comes back when BFD does, and not before', async () => {
    await bothUp();
    bfd.move('tor1', 'Up', 'Down', 'Down', 3);
    await exchange(500);
    expect(status()?.state).toBe('Idle');
    bfd.move('tor1', 'Init', 'Up', 'Up');
    await exchange(100);
    expect(status()?.state).toBe('Established');
  });

  test('BFD-022 a session waits one second for lost BFD, which may come back only with BGP', async () => {
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

  test('a waiting session is released when its peer no longer has BFD', async () => {
    await bothUp();
    bfd.move('tor1', 'Up', 'Down', 'Up', 1);
    await exchange();
    const { bfdProfile: _, ...without } = tor1;
    await reconcile([without]);
    await exchange(100);
    expect(status()).toMatchObject({ state: 'Established' });
    expect(status()).not.toHaveProperty('bfd');
  });

  test('a removed session ignores late transitions', async () => {
    await bothUp();
    await reconcile([{ name: 'tor1', peerAddress: '10.0.0.254' }]);
    bfd.move('tor1', 'Up', 'Down', 'Up', 1);
    await exchange();
    expect(status()?.state).toBe('Established');
  });
});

describe('a path that changes', () => {
  const ways: readonly (readonly [string, Partial<PeerLiteral>])[] = [
    ['another address', { peerAddress: '10.0.0.253' }],
    ['another interface', { interface: 'eth1' }],
    ['a peer that may be several hops away', { ebgpMultiHop: true }],
    ['a peer with TTL security over several hops', { ttlSecurityHops: 2 }],
  ];

  test.each(ways)('%s: BFD starts again from Down', async (_, change) => {
    await bothUp();
    await reconcile([{ ...tor1, ...change }]);
    expect(status()?.bfd).toEqual({ state: 'Down', since: bed.clock.date().toISOString() });
    bfd.move('tor1', 'Init', 'Up', 'Up');
    expect(status()?.bfd?.state).toBe('Up');
  });

  test.each(ways)('%s: late transitions of the old path are ignored', async (_, change) => {
    await bothUp();
    let answer: (() => void) | undefined;
    bfd.answers = new Promise((resolve) => void (answer = resolve));
    await reconcile([{ ...tor1, ...change }]);
    bfd.move('tor1', 'Init', 'Up', 'Up');
    bfd.move('tor1', 'Up', 'Down', 'Up', 1);
    bfd.move('tor1', 'Init', 'Up', 'Up');
    await exchange();
    expect(status()?.bfd?.state).toBe('Down');
    expect(routers.notifications).not.toContainEqual(expect.stringContaining('BFD Down'));
    answer?.();
    await exchange();
    bfd.move('tor1', 'Init', 'Up', 'Up');
    expect(status()?.bfd?.state).toBe('Up');
  });

  test('a changed profile keeps the path', async () => {
    await bothUp();
    await reconcile([tor1], [{ ...fast, transmitInterval: 1000, minimumTtl: 100 }]);
    expect(status()?.bfd?.state).toBe('Up');
  });

  test('a second router on an unnumbered link changes nothing while the session with the first exists', async () => {
    await reconcile([{ name: 'tor1', interface: 'eth1', dynamicASN: 'external', bfdProfile: 'fast' }]);
    const search = routers.transport.discoveries.get('eth1');
    search?.found(address('fe80::1'));
    await exchange();
    expect(status()).toMatchObject({ state: 'Established', address: 'fe80::1' });
    bfd.move('tor1', 'Init', 'Up', 'Up');
    search?.found(address('fe80::2'));
    await exchange();
    expect(bfd.sessions.get('tor1')?.peer).toBe('fe80::1');
    expect(status()).toMatchObject({ state: 'Established', address: 'fe80::1', bfd: { state: 'Up' } });
    // The router was replaced: its path is lost, and the other router becomes the peer.
    bfd.move('tor1', 'Up', 'Down', 'Up', 1);
    await exchange(100);
    expect(bfd.sessions.get('tor1')?.peer).toBe('fe80::2');
    expect(status()).toMatchObject({ state: 'Established', address: 'fe80::2' });
  });

  test('a waiting session also waits for the new path', async () => {
    await bothUp();
    bfd.move('tor1', 'Up', 'Down', 'Up', 1);
    await exchange();
    await reconcile([{ ...tor1, peerAddress: '10.0.0.253' }]);
    // Nothing is known of the new path, and BFD that never came up holds nothing back.
    await exchange(100);
    expect(status()).toMatchObject({ address: '10.0.0.253', state: 'Established' });
  });
});

describe('an agent with BFD', () => {
  test('BFD-020 the agent sends AdminDown when it stops, after it closed BGP', async () => {
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

  test('the agent applies a changed BFDProfile while it runs', async () => {
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
