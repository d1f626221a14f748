import { beforeEach, describe, expect, test } from 'vitest';
import { sessionChange } from '../../../../src/agent/sessions/session-change.ts';
import { BfdUnavailableError } from '../../../../src/bfd/index.ts';
import { peersOfNode, type SessionIntent } from '../../../../src/decisions/announcement/peers.ts';
import { address } from '../../../../src/net/address.ts';
import { cluster, type PeerLiteral } from '../../decisions/fixtures.ts';
import type { FakeBfd } from '../fakes/fake-bfd.ts';
import { fast, WatchBed } from './bfd-testbed.ts';

const tor1 = { name: 'tor1', peerAddress: '10.0.0.254', bfdProfile: 'fast', bfdStrict: true } as const;
const tor6 = { ...tor1, name: 'tor6', peerAddress: 'fd00::254' };

let bed: WatchBed;
beforeEach(() => {
  bed = new WatchBed();
});

const dialed = (): number => bed.routers.transport.dialed.length;
const up = async (): Promise<void> => {
  await bed.reconcile([tor1]);
  bed.bfd.move('tor1', 'Init', 'Up', 'Up');
  await bed.exchange(100);
  expect(bed.status()).toMatchObject({ state: 'Established', bfd: { state: 'Up' } });
};

describe('BFD-022 bfdStrict: no session', () => {
  test.each([tor1, tor6])('before BFD is up, however long that takes: $peerAddress', async (peer) => {
    await bed.reconcile([peer]);
    await bed.exchange(3_600_000);
    expect(dialed()).toBe(0);
    expect(bed.status()).toMatchObject({
      state: 'Idle',
      bfd: { state: 'Down', awaited: 'it is Down since there is no answer' },
      lastError: `the session with "${peer.name}" waits for BFD (bfdStrict): it is Down since there is no answer`,
    });
    bed.bfd.move(peer.name, 'Down', 'Init', 'Down');
    await bed.exchange(100);
    expect(dialed()).toBe(0);
    bed.bfd.move(peer.name, 'Init', 'Up', 'Up');
    await bed.exchange(100);
    expect(bed.status()?.state).toBe('Established');
    expect(bed.status()?.lastError).not.toContain('waits');
    expect(bed.status()?.bfd).not.toHaveProperty('awaited');
  });

  test('after BFD was lost, before it is up again', async () => {
    await up();
    bed.bfd.move('tor1', 'Up', 'Down', 'Up', 1);
    await bed.exchange(3_600_000);
    expect(bed.routers.notifications).toEqual(['10.0.0.254 Cease: BFD Down (6/10)']);
    expect(bed.status()).toMatchObject({ state: 'Idle' });
    expect(bed.status()?.lastError).toContain('waits for BFD (bfdStrict): it is Down, control detection time expired');
    bed.bfd.move('tor1', 'Init', 'Up', 'Up');
    await bed.exchange(100);
    expect(bed.status()?.state).toBe('Established');
  });

  test('where this host cannot have BFD, which is said', async () => {
    bed = new WatchBed((): FakeBfd => {
      throw new BfdUnavailableError();
    });
    await bed.reconcile([tor1]);
    await bed.exchange(60_000);
    expect(dialed()).toBe(0);
    expect(bed.status()?.lastError).toContain('waits for BFD (bfdStrict): BFD needs Linux');
  });

  test('over another way, before BFD is up there', async () => {
    await up();
    const before = dialed();
    await bed.reconcile([{ ...tor1, peerAddress: '10.0.0.253' }]);
    await bed.exchange(60_000);
    expect(dialed()).toBe(before);
    bed.bfd.move('tor1', 'Init', 'Up', 'Up');
    await bed.exchange(100);
    expect(bed.status()).toMatchObject({ state: 'Established', address: '10.0.0.253' });
  });

  test('with a router that nobody has found; it is found, and watched, while the session waits', async () => {
    await bed.reconcile([{ name: 'tor1', interface: 'eth1', dynamicASN: 'external', bfdProfile: 'fast', bfdStrict: true }]);
    await bed.exchange(60_000);
    expect(bed.bfd.sessions.size).toBe(0);
    expect(bed.status()?.lastError).toContain('waits for BFD (bfdStrict): the router was not found yet');
    bed.routers.transport.discoveries.get('eth1')?.found(address('fe80::1'));
    await bed.exchange();
    expect(bed.bfd.sessions.get('tor1')).toMatchObject({ peer: 'fe80::1', interface: 'eth1' });
    expect(dialed()).toBe(0);
    bed.bfd.move('tor1', 'Init', 'Up', 'Up');
    await bed.exchange(100);
    expect(bed.status()).toMatchObject({ state: 'Established', address: 'fe80::1' });
  });
});

describe('what ends the waiting', () => {
  test('BFD-020 a peer that has its BFD shut down, also where it was never up', async () => {
    await bed.reconcile([tor1]);
    bed.bfd.remoteStates.set('tor1', 'AdminDown');
    await bed.exchange(10_000);
    await bed.exchange(100);
    expect(bed.status()?.state).toBe('Established');
  });

  test('that it is not asked for any more', async () => {
    await bed.reconcile([tor1]);
    await bed.reconcile([{ ...tor1, bfdStrict: false }]);
    await bed.exchange(100);
    expect(bed.status()?.state).toBe('Established');
  });

  test('after a loss, no longer asked for: the second of everybody else, from the loss on', async () => {
    await up();
    bed.bfd.move('tor1', 'Up', 'Down', 'Up', 1);
    await bed.exchange(400);
    await bed.reconcile([{ ...tor1, bfdStrict: false }]);
    await bed.exchange(599);
    expect(bed.status()?.state).toBe('Idle');
    await bed.exchange(1);
    await bed.exchange(6_000);
    expect(bed.status()?.state).toBe('Established');
  });

  test('a peer without BFD', async () => {
    await bed.reconcile([tor1]);
    await bed.reconcile([{ name: 'tor1', peerAddress: '10.0.0.254' }]);
    await bed.exchange(100);
    expect(bed.status()?.state).toBe('Established');
  });
});

describe('a session that is up while BFD is not', () => {
  const lax: PeerLiteral = { ...tor1, bfdStrict: false };

  test('is not ended by bfdStrict, and is the last one without BFD', async () => {
    await bed.reconcile([lax]);
    await bed.reconcile([tor1]);
    expect(bed.status()).toMatchObject({ state: 'Established', bfd: { state: 'Down' } });
    expect(bed.routers.notifications).toEqual([]);
    bed.routers.sessions[0]?.close();
    await bed.exchange(60_000);
    expect(bed.status()?.state).toBe('Idle');
    expect(bed.status()?.lastError).toContain('waits for BFD (bfdStrict)');
    expect(dialed()).toBe(1);
  });
});

describe('a BFDProfile that is missing', () => {
  const says = 'BFDProfile "fast" of "tor1" does not exist, and bfdStrict allows no session without: ';

  test('is a session that does not begin', async () => {
    await bed.reconcile([tor1], []);
    expect(dialed()).toBe(0);
    expect(bed.status()).toMatchObject({ state: 'Idle', since: '', lastError: expect.stringContaining(says) });
  });

  test('does not end a session that runs, which is watched on', async () => {
    await up();
    await bed.reconcile([tor1], [], { running: { n1: { tor1: '10.0.0.254' } } });
    expect(bed.status()).toMatchObject({ state: 'Established', lastError: expect.stringContaining(says) });
    expect(bed.bfd.sessions.get('tor1')).toMatchObject({ transmitInterval: fast.transmitInterval });
  });

  test('does not end a session that runs without BFD, and is the last one so', async () => {
    const running = { running: { n1: { tor1: '10.0.0.254' } } };
    await bed.reconcile([{ name: 'tor1', peerAddress: '10.0.0.254' }]);
    await bed.reconcile([tor1], [], running);
    await bed.exchange(60_000);
    expect(bed.routers.notifications).toEqual([]);
    expect(bed.status()).toMatchObject({ state: 'Established', lastError: expect.stringContaining(says) });
    expect(bed.status()).not.toHaveProperty('bfd');
    bed.routers.sessions[0]?.close();
    await bed.exchange(60_000);
    expect(dialed()).toBe(1);
    expect(bed.status()).toMatchObject({ state: 'Idle', lastError: expect.stringContaining(says) });
    await bed.reconcile([tor1], [fast], running);
    await bed.exchange(60_000);
    expect(dialed()).toBe(1);
    bed.bfd.move('tor1', 'Init', 'Up', 'Up');
    await bed.exchange(100);
    expect(bed.status()).toMatchObject({ state: 'Established', bfd: { state: 'Up' } });
  });

  test('that comes into being leaves a session that runs alone', async () => {
    await bed.reconcile([{ name: 'tor1', peerAddress: '10.0.0.254' }]);
    await bed.reconcile([tor1], [], { running: { n1: { tor1: '10.0.0.254' } } });
    await bed.reconcile([tor1], [fast]);
    expect(bed.status()).toMatchObject({ state: 'Established', bfd: { state: 'Down' } });
    expect(bed.bfd.sessions.get('tor1')).toMatchObject({ transmitInterval: fast.transmitInterval });
    expect(bed.routers.notifications).toEqual([]);
  });

  test('opens no session that was shut down', async () => {
    const down = { ...tor1, adminDown: true };
    await bed.reconcile([down], []);
    await bed.reconcile([tor1], [], { running: { n1: { tor1: '10.0.0.254' } } });
    await bed.exchange(60_000);
    expect(bed.routers.sessions).toEqual([]);
    expect(bed.status()).toMatchObject({ state: 'Idle', lastError: expect.stringContaining(says) });
  });

  test('does not let an agent begin that only its report knows of', async () => {
    await bed.reconcile([tor1], [], { running: { n1: { tor1: '10.0.0.254' } } });
    expect(dialed()).toBe(0);
    expect(bed.status()?.lastError).toContain(says);
  });
});

test('the change of it is live', () => {
  const intent = (change: Partial<PeerLiteral>): SessionIntent => {
    const [peer] = peersOfNode(
      cluster({ nodes: [{ name: 'n1' }], peers: [{ ...tor1, ...change }], bfdProfiles: [fast, { name: 'slow' }] }),
      'n1',
    );
    if (peer === undefined || !('session' in peer.result)) throw new Error('no session');
    return peer.result.session;
  };
  expect(sessionChange(intent({}), intent({ bfdStrict: false }))).toEqual({ change: 'live', fields: ['bfdStrict'] });
  expect(sessionChange(intent({}), intent({ bfdProfile: 'slow' }))).toEqual({ change: 'live', fields: ['bfdProfile'] });
  expect(sessionChange(intent({}), intent({ bfdStrict: false, peerAddress: '10.0.0.9' }))).toEqual({
    change: 'reset',
    fields: ['address', 'bfdStrict'],
  });
});
