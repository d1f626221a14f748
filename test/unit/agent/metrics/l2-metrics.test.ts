import { expect, test } from 'vitest';
import { OwnerChanges } from '../../../../src/agent/l2/owner-changes.ts';
import { exposeL2 } from '../../../../src/agent/metrics/l2-metrics.ts';
import { Counters } from '../../../../src/l2/counters.ts';
import type { L2Event, L2Status, PeerStatus } from '../../../../src/l2/index.ts';
import { Metrics } from '../../../../src/telemetry/metrics.ts';
import { sampleOf } from '../../telemetry/scrape.ts';

const peer = (node: string, changes: Partial<PeerStatus> = {}): PeerStatus => ({
  node,
  mac: '02:00:00:00:00:02',
  watched: true,
  session: 'Up',
  verdict: 'unknown',
  standing: 'in',
  answersWithoutSession: false,
  ...changes,
});

const peers = [
  peer('n2'),
  peer('n3', { session: 'Down', standing: 'out' }),
  peer('n4', { session: 'AdminDown', standing: 'out' }),
  // A node that is no candidate is not watched.
  peer('n5', { watched: false, standing: 'suspect' }),
];

const status: L2Status = {
  links: [
    {
      interface: 'eth0',
      mac: '02:00:00:00:00:01',
      settled: true,
      isolated: false,
      noPeerLiveness: false,
      peers,
      groups: { joined: 0, waiting: 0 },
      drops: 7,
    },
  ],
  addresses: [],
  counters: Object.assign(new Counters(), {
    requests: 11,
    answers: 10,
    announcements: 9,
    probes: 8,
    sendFailures: 1,
    foreignConflicts: 2,
    nodeConflicts: 3,
    stalls: 4,
    ignored: { ownFrame: 5, macLimit: 6 },
  }),
  suspended: false,
};

function changed(address: string, from: 'standby' | 'owner', to: 'standby' | 'owner', cause: 'elected' | 'heardBetter'): L2Event {
  return { kind: 'changed', at: new Date(0), address, interface: 'eth0', from, to, cause };
}

function scraped(known: L2Status | undefined, events: readonly L2Event[] = []): Promise<string> {
  const metrics = new Metrics();
  const changes = new OwnerChanges();
  for (const event of events) changes.take(event);
  exposeL2(metrics, { status: () => Promise.resolve(known), changes });
  return metrics.text();
}

test.each<[string, number]>([
  ['herald_l2_requests_received_total', 11],
  ['herald_l2_responses_sent_total', 10],
  ['herald_l2_gratuitous_sent_total', 9],
  ['herald_l2_probes_sent_total', 8],
  ['herald_l2_send_failures_total', 1],
  ['herald_l2_conflicts_total{by="foreign"}', 2],
  ['herald_l2_conflicts_total{by="node"}', 3],
  ['herald_l2_stalls_total', 4],
  ['herald_l2_ignored_frames_total{reason="ownFrame"}', 5],
  ['herald_l2_ignored_frames_total{reason="macLimit"}', 6],
  ['herald_l2_kernel_drops_total{interface="eth0"}', 7],
  ['herald_l2_peers{interface="eth0",standing="in"}', 1],
  ['herald_l2_peers{interface="eth0",standing="suspect"}', 1],
  ['herald_l2_peers{interface="eth0",standing="out"}', 2],
  ['herald_l2_peers_without_liveness{interface="eth0"}', 1],
])('L2-32 %s has the value of the responder', async (series, value) => {
  expect(sampleOf(await scraped(status), series)).toBe(value);
});

test('the addresses of an interface and the changes of owners with their causes are counted from events', async () => {
  const text = await scraped(status, [
    changed('192.0.2.1', 'standby', 'owner', 'elected'),
    changed('192.0.2.2', 'standby', 'owner', 'elected'),
    changed('192.0.2.1', 'owner', 'standby', 'heardBetter'),
  ]);
  expect(sampleOf(text, 'herald_l2_addresses_owned{interface="eth0"}')).toBe(1);
  expect(sampleOf(text, 'herald_l2_owner_changes_total{change="began",cause="elected"}')).toBe(2);
  expect(sampleOf(text, 'herald_l2_owner_changes_total{change="ceased",cause="heardBetter"}')).toBe(1);
});

test('a node that announces nothing by ARP and NDP has none of the values', async () => {
  expect(await scraped(undefined)).not.toMatch(/^herald_l2_[a-z_]+\{/m);
});
