import { beforeEach, describe, expect, test } from 'vitest';
import { sessionChange } from '../../../../src/agent/sessions/session-change.ts';
import { BfdUnavailableError } from '../../../../src/bfd/index.ts';
import { peersOfNode, type SessionIntent } from '../../../../src/decisions/announcement/peers.ts';
import { address } from '../../../../src/net/address.ts';
import { cluster, type PeerLiteral } from '../../decisions/fixtures.ts';
import type { FakeBfd } from '../fakes/fake-bfd.ts';
import { fast, BfdTestbed } from './bfd-testbed.ts';

const tor1 = { name: 'tor1', peerAddress: '10.0.0.254', bfdProfile: 'fast', bfdStrict: true } as const;
const tor6 = { ...tor1, name: 'tor6', peerAddress: 'fd00::254' };

let bed: BfdTestbed;
beforeEach(() => {
  bed = new BfdTestbed();
});

const dialed = (): number => bed.routers.transport.dialed.length;
const up = async (): Promise<void> => {
  await bed.reconcile([tor1]);
  bed.bfd.move('tor1', 'Init', 'Up', 'Up');
  await bed.exchange(100);
  expect(bed.status()).toMatchObject({ state: 'Established', bfd: { state: 'Up' } });
};

describe('BFD-022 a bfdStrict peer', () => {
  test.each([tor1, tor6])('no session starts before BFD is up, however long that takes: $peerAddress', async (peer) => {
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

  test('no session starts after BFD was lost until it is up again', async () => {
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

  test('no session starts on a host that cannot run BFD, which is reported', async () => {
    bed = new BfdTestbed((): FakeBfd => {
      throw new BfdUnavailableError();
    });
    await bed.reconcile([tor1]);
    await bed.exchange(60_000);
    expect(dialed()).toBe(0);
    expect(bed.status()?.lastError).toContain('waits for BFD (bfdStrict): BFD needs Linux');
  });

  test('no session starts over a new path before BFD is up there', async () => {
    await up();
    const before = dialed();
    await bed.reconcile([{ ...tor1, peerAddress: '10.0.0.253' }]);
    await bed.exchange(60_000);
    expect(dialed()).toBe(before);
    bed.bfd.move('tor1', 'Init', 'Up', 'Up');
    await bed.exchange(100);
    expect(bed.status()).toMatchObject({ state: 'Established', address: '10.0.0.253' });
  });

  test('no session starts with an undiscovered router; it is found and monitored during the wait', async () => {
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

describe('the end of the wait', () => {
  test('BFD-020 AdminDown of the peer ends the wait, even if BFD was never up', async () => {
    await bed.reconcile([tor1]);
    bed.bfd.remoteStates.set('tor1', 'AdminDown');
    await bed.exchange(10_000);
    await bed.exchange(100);
    expect(bed.status()?.state).toBe('Established');
  });

  test('the wait ends when bfdStrict is removed', async () => {
    await bed.reconcile([tor1]);
    await bed.reconcile([{ ...tor1, bfdStrict: false }]);
    await bed.exchange(100);
    expect(bed.status()?.state).toBe('Established');
  });

  test('the usual second counts from the loss when bfdStrict is removed after it', async () => {
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

  test('the wait ends when the peer no longer has BFD', async () => {
    await bed.reconcile([tor1]);
    await bed.reconcile([{ name: 'tor1', peerAddress: '10.0.0.254' }]);
    await bed.exchange(100);
    expect(bed.status()?.state).toBe('Established');
  });
});

describe('a session that is up while BFD is down', () => {
  const lax: PeerLiteral = { ...tor1, bfdStrict: false };

  test('bfdStrict does not end the session, but no further one starts without BFD', async () => {
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

describe('a missing BFDProfile', () => {
  const says = 'BFDProfile "fast" of "tor1" does not exist, and bfdStrict allows no session without BFD: ';

  test('no new session starts', async () => {
    await bed.reconcile([tor1], []);
    expect(dialed()).toBe(0);
    expect(bed.status()).toMatchObject({ state: 'Idle', since: '', lastError: expect.stringContaining(says) });
  });

  test('a running session stays and remains monitored', async () => {
    await up();
    await bed.reconcile([tor1], [], { running: { n1: { tor1: '10.0.0.254' } } });
    expect(bed.status()).toMatchObject({ state: 'Established', warning: { code: 'StrictBFDProfileMissing' } });
    expect(bed.bfd.sessions.get('tor1')).toMatchObject({ transmitInterval: fast.transmitInterval });
  });

  test('a running session without BFD stays, but no further one starts', async () => {
    const running = { running: { n1: { tor1: '10.0.0.254' } } };
    await bed.reconcile([{ name: 'tor1', peerAddress: '10.0.0.254' }]);
    await bed.reconcile([tor1], [], running);
    await bed.exchange(60_000);
    expect(bed.routers.notifications).toEqual([]);
    expect(bed.status()).toMatchObject({ state: 'Established', warning: { code: 'StrictBFDProfileMissing' } });
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

  test('a profile that appears leaves a running session alone', async () => {
    await bed.reconcile([{ name: 'tor1', peerAddress: '10.0.0.254' }]);
    await bed.reconcile([tor1], [], { running: { n1: { tor1: '10.0.0.254' } } });
    await bed.reconcile([tor1], [fast]);
    expect(bed.status()).toMatchObject({ state: 'Established', bfd: { state: 'Down' } });
    expect(bed.bfd.sessions.get('tor1')).toMatchObject({ transmitInterval: fast.transmitInterval });
    expect(bed.routers.notifications).toEqual([]);
  });

  test('a session that was shut down does not open', async () => {
    const down = { ...tor1, adminDown: true };
    await bed.reconcile([down], []);
    await bed.reconcile([tor1], [], { running: { n1: { tor1: '10.0.0.254' } } });
    await bed.exchange(60_000);
    expect(bed.routers.sessions).toEqual([]);
    expect(bed.status()).toMatchObject({ state: 'Idle', lastError: expect.stringContaining(says) });
  });

  test('no session starts in a new agent although an old report has BFD', async () => {
    await bed.reconcile([tor1], [], { running: { n1: { tor1: '10.0.0.254' } } });
    expect(dialed()).toBe(0);
    expect(bed.status()?.lastError).toContain(says);
  });
});

test('bfdStrict and bfdProfile change live', () => {
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
    agreed: ['address'],
  });
});
