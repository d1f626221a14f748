import { expect, test } from 'vitest';
import { LinkProblems } from '../../../../src/agent/l2/link-problems.ts';
import type { LinkStatus, PeerStatus } from '../../../../src/l2/index.ts';
import { currentReport } from '../../../../src/model/objects/node-state.ts';
import { linksWithoutCarrier } from '../../../../src/decisions/l2/link-troubles.ts';
import { address } from '../../../../src/net/address.ts';
import type { HostLink } from '../../../../src/net/host-link.ts';
import { prefix } from '../../../../src/net/prefix.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { cluster } from '../../decisions/fixtures.ts';

const peer = (more: Partial<PeerStatus> = {}): PeerStatus => ({
  node: 'n2',
  mac: '02:00:00:00:00:02',
  session: 'Up',
  verdict: 'unknown',
  standing: 'in',
  answersWithoutSession: false,
  watched: true,
  ...more,
});

const link = (more: Partial<LinkStatus> = {}): LinkStatus => ({
  interface: 'eth0',
  mac: '02:00:00:00:00:01',
  settled: true,
  isolated: false,
  noPeerLiveness: false,
  groups: { joined: 0, waiting: 0 },
  peers: [peer()],
  ...more,
});

function watched(first: LinkStatus) {
  const clock = new VirtualClock();
  const snapshot = cluster({ nodes: ['n1', 'n2'].map((name) => ({ name })), links: { n1: {}, n2: {} } });
  const state = snapshot.nodeStates.get('n2');
  if (state !== undefined) (snapshot.nodeStates as Map<string, typeof state>).set('n2', { ...state, updated: clock.date().toISOString() });
  expect(currentReport(snapshot.nodeStates, 'n2', clock.date().getTime())).toBeDefined();
  const now = { link: first, hostLinks: [] as readonly HostLink[], changes: 0 };
  const problems = new LinkProblems('n1', {
    clock,
    snapshot: () => snapshot,
    status: () => Promise.resolve({ links: [now.link] }),
    hostLinks: () => now.hostLinks,
    onChanged: () => now.changes++,
  });
  problems.start();
  const pass = async (seconds: number): Promise<string[]> => {
    for (let second = 0; second < seconds; second++) {
      clock.advance(1_000);
      await new Promise((resolve) => void setImmediate(resolve));
    }
    return problems.problems().map(({ code }) => code);
  };
  return { now, problems, pass, clock };
}

test('a link on which no session ever came up is reported when that lasts, and while other nodes run', async () => {
  const { now, pass } = watched(link({ noPeerLiveness: true }));
  expect(await pass(5)).toEqual([]);
  expect(await pass(5)).toEqual(['L2NoPeerLiveness']);
  // The report of the other node is too old.
  expect(await pass(100)).toEqual([]);
  now.link = link();
  expect(await pass(10)).toEqual([]);
});

test('a node that answers ARP although BFD with it is down is named', async () => {
  const { now, pass, problems } = watched(link({ peers: [peer({ session: 'Down', answersWithoutSession: true, verdict: 'answered' })] }));
  expect(await pass(10)).toEqual(['L2PeerWithoutBFD']);
  expect(problems.problems()[0]?.details).toEqual({ node: 'n1', interface: 'eth0', other: 'n2' });
  now.link = link();
  expect(await pass(5)).toEqual([]);
  expect(now.changes).toBe(2);
});

test('a link that the agent cannot open is reported when that lasts', async () => {
  const { now, pass, problems } = watched(link({ problem: 'EPERM', noPeerLiveness: true }));
  expect(await pass(5)).toEqual([]);
  expect(await pass(5)).toEqual(['L2NoSocket']);
  expect(problems.problems()[0]?.details).toEqual({ node: 'n1', interface: 'eth0', error: 'EPERM' });
  now.link = link();
  expect(await pass(5)).toEqual([]);
});

test('a node that lost all others at once is reported with the event, and no longer when one is back', async () => {
  const { now, pass, problems, clock } = watched(link({ isolated: true, peers: [peer({ session: 'Down' })] }));
  problems.take({ kind: 'isolated', at: clock.date(), interface: 'eth0' });
  expect(await pass(1)).toEqual(['L2Isolated']);
  now.link = link();
  problems.take({ kind: 'rejoined', at: clock.date(), interface: 'eth0' });
  expect(await pass(1)).toEqual([]);
});

test('a node that claims an address again and again is named for a minute', async () => {
  const { pass, problems, clock } = watched(link());
  problems.take({ kind: 'disputed', at: clock.date(), address: '192.0.2.1', interface: 'eth0', node: 'n2' });
  expect(await pass(1)).toEqual(['L2Disputed']);
  expect(await pass(50)).toEqual(['L2Disputed']);
  expect(await pass(20)).toEqual([]);
  problems.stop();
  expect(clock.pending).toBe(0);
});

test('L2-29 an interface of an announced link that is Wi-Fi is reported, once for all links above it', async () => {
  const { now, pass, problems } = watched(link());
  const wlan0 = {
    name: 'wlan0',
    wireless: true,
    up: true,
    carrier: true,
    noArp: false,
    loopback: false,
    leadsElsewhere: false,
    addresses: [],
  };
  now.hostLinks = [wlan0];
  expect(await pass(5)).toEqual([]);
  now.link = link({ interface: 'wlan0' });
  expect(await pass(5)).toEqual(['L2Wireless']);
  expect(problems.problems()[0]?.details).toEqual({ node: 'n1', interface: 'wlan0' });
  now.hostLinks = [{ ...wlan0, wireless: false }];
  expect(await pass(5)).toEqual([]);
  expect(now.changes).toBe(2);
});

test('an interface with a network, or a named one, is reported when it has no carrier; one that leads to a pod is not', () => {
  const base = { up: true, carrier: false, noArp: false, loopback: false, leadsElsewhere: false, linkAddress: '02:00:00:00:00:01' };
  const numbered = [{ address: address('192.0.2.1'), network: prefix('192.0.2.0/24') }];
  const links: HostLink[] = [
    { ...base, name: 'eth0', addresses: numbered },
    { ...base, name: 'eth1', addresses: [] },
    { ...base, name: 'eth2', addresses: [] },
    { ...base, name: 'eth3', addresses: numbered, carrier: true },
    { ...base, name: 'eth4', addresses: numbered, up: false },
    { ...base, name: 'veth5', addresses: [], leadsElsewhere: true },
    { ...base, name: 'docker0', addresses: numbered, kind: 'bridge' },
    { ...base, name: 'port6', addresses: numbered, master: 'br0' },
  ];
  expect(linksWithoutCarrier('n1', links, new Set(['eth1'])).map(({ details }) => details)).toEqual([
    { node: 'n1', interface: 'eth0', networks: '192.0.2.0/24' },
    { node: 'n1', interface: 'eth1', networks: '' },
  ]);
});
