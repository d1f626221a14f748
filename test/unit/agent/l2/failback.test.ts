import { expect, test } from 'vitest';
import { ClaimRecord } from '../../../../src/agent/l2/claim-record.ts';
import { Failback } from '../../../../src/agent/l2/failback.ts';
import type { L2Plan } from '../../../../src/agent/l2/l2-table.ts';
import type { LinkStatus } from '../../../../src/l2/index.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { cluster } from '../../decisions/fixtures.ts';

const vip = '192.0.2.1';
const eth0 = { name: 'eth0', linkAddress: '02:00:00:00:00:01', networks: [], addresses: [] };

/** Node n2 keeps an address for which n1 is better placed, with failbackSeconds 5. */
function keeper(failback: 'after' | 'never' = 'after') {
  const clock = new VirtualClock();
  const snapshot = cluster({
    nodes: ['n1', 'n2'].map((name) => ({ name })),
    services: [{ name: 'a', assigned: [vip] }],
    links: { n1: {}, n2: {} },
    claims: { n1: { [vip]: 1 }, n2: { [vip]: 2 } },
  });
  const claims = new ClaimRecord('n2', () => snapshot);
  const state = { lives: true, givenBack: [] as string[] };
  const links = (): LinkStatus[] => [
    {
      interface: 'eth0',
      mac: '02:00:00:00:00:02',
      settled: true,
      isolated: false,
      noPeerLiveness: false,
      groups: { joined: 0, waiting: 0 },
      peers: [
        { node: 'n1', mac: '', watched: true, verdict: 'unknown', standing: state.lives ? 'in' : 'suspect', answersWithoutSession: false },
      ],
    },
  ];
  const waiting = new Failback('n2', {
    clock,
    claims,
    links: () => Promise.resolve(links()),
    onGivenBack: (addresses) => state.givenBack.push(...addresses),
  });
  const settings = { onConflict: 'defend', failback, failbackSeconds: 5, refreshInterval: 60, promiscuous: false } as const;
  const [n1, n2] = ['n1', 'n2'].map((node) => ({ node, weight: 0, links: [eth0] }));
  const plan = (...candidates: (typeof n1)[]): L2Plan => ({
    address: vip,
    candidates: candidates.filter((one) => one !== undefined),
    settings,
    everHeld: true,
  });
  const pass = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second++) {
      clock.advance(1_000);
      await new Promise((resolve) => void setImmediate(resolve));
    }
  };
  const kept = n2 === undefined ? undefined : { ...n2, keeps: true as const };
  return { waiting, state, pass, kept: plan(kept, n1), givenBack: plan(n1, n2), best: plan(n2, n1), claims, clock };
}

test('an address is given back when the better placed node has lived for failbackSeconds', async () => {
  const { waiting, state, pass, kept, claims } = keeper();
  waiting.plan(vip, kept);
  await pass(5);
  expect(state.givenBack).toEqual([]);
  await pass(1);
  expect(state.givenBack).toEqual([vip]);
  expect(claims.claims).toEqual([{ address: vip, number: 2, givesBack: true }]);
});

test('the time begins anew when the better placed node was away', async () => {
  const { waiting, state, pass, kept } = keeper();
  waiting.plan(vip, kept);
  await pass(4);
  state.lives = false;
  await pass(1);
  state.lives = true;
  await pass(5);
  expect(state.givenBack).toEqual([]);
  await pass(1);
  expect(state.givenBack).toEqual([vip]);
});

test('an address is kept after all when the better placed node fails before it takes the address', async () => {
  const { waiting, state, pass, kept, givenBack, claims } = keeper();
  waiting.plan(vip, kept);
  await pass(6);
  waiting.plan(vip, givenBack);
  await pass(2);
  expect(state.givenBack).toEqual([vip]);
  state.lives = false;
  await pass(1);
  expect(state.givenBack).toEqual([vip, vip]);
  expect(claims.claims).toEqual([{ address: vip, number: 2 }]);
});

test.each(['the best node', 'a node with failback never'])('%s gives nothing back', async (who) => {
  const { waiting, state, pass, kept, best, clock } = keeper(who === 'the best node' ? 'after' : 'never');
  waiting.plan(vip, who === 'the best node' ? best : kept);
  await pass(10);
  expect(state.givenBack).toEqual([]);
  waiting.stop();
  await pass(1);
  expect(clock.pending).toBe(0);
});
