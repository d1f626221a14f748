import { describe, expect, test, vi } from 'vitest';
import type { NodeDrainReport, NodeState } from '../../../../src/model/objects/node-state.ts';
import { config, metadata, node, slice } from '../../decisions/fixtures.ts';
import { basics, testbed, web, type Testbed } from '../testbed.ts';

const internalIPs = ['10.0.0.1', 'fd00::1'];
const plain = node({ name: 'n1', internalIPs });
const drained = node({ name: 'n1', internalIPs, drain: 'keepLast' });
const forced = node({ name: 'n1', internalIPs, drain: 'force' });
const settings = config({ nodeDrain: { settleSeconds: 10, deadlineSeconds: 60 } });
const services = [...web('a', ['192.0.2.1', '2001:db8:1::1']), ...web('b', ['192.0.2.2'])];

/** The report of the other node's agent, at `seconds` of the virtual clock. */
function otherReport(seconds = 0, more: Partial<NodeState> = {}): NodeState {
  const session = { peer: 'tor1', address: '10.0.0.254', state: 'Established', since: '2026-01-01T00:00:00Z' } as const;
  return {
    kind: 'NodeState',
    metadata: metadata('n2'),
    updated: new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString(),
    consumed: {},
    sessions: [{ ...session, localASN: 64512, peerASN: 64513, prefixesSent: 0 }],
    differing: [],
    ...more,
  };
}

const other = [node({ name: 'n2', internalIPs: ['10.0.0.2', 'fd00::2'] }), otherReport()];

async function started(...more: Parameters<typeof testbed>[0]): Promise<Testbed> {
  const bed = testbed([...basics, settings, ...services, ...more], { reportsComeBack: true });
  await bed.agent.start();
  await bed.settle();
  bed.takeLog();
  return bed;
}

const report = (bed: Testbed): NodeDrainReport | undefined => bed.states.at(-1)?.drain;
const steps = (bed: Testbed): string[] => bed.takeLog().filter((line) => /announce|withdraw|^-/.test(line));
const attributes = (bed: Testbed, prefix: string): string => {
  const { communities = [], localPref } = bed.peers.last.get(`${prefix} to tor1`) ?? {};
  return `${communities.map((each) => (each.kind === 'standard' ? each.value.toString(16) : 'large')).join()} ${localPref}`;
};
/** A report is written shortly after a change. */
const soon = 100;

describe('a requested node drain', () => {
  test('the node becomes the last choice, then withdraws, keeps its rules, and reports its progress', async () => {
    const bed = await started(...other);
    bed.source.put(drained);
    await bed.advance(soon);
    expect(steps(bed)).toEqual([]);
    expect(attributes(bed, '192.0.2.1/32')).toBe('ffff0000 0');
    expect(attributes(bed, '2001:db8:1::1/128')).toBe('ffff0000 0');
    expect(report(bed)).toEqual({ phase: 'Draining', since: '2026-01-01T00:00:00Z', kept: 0 });

    await bed.advance(9_000);
    expect(steps(bed)).toEqual([]);
    bed.connections.left = 3;
    await bed.advance(1_000);
    expect(steps(bed)).toEqual(['withdraw 192.0.2.1/32 to tor1', 'withdraw 2001:db8:1::1/128 to tor1', 'withdraw 192.0.2.2/32 to tor1']);

    await bed.advance(5_000);
    await bed.advance(soon);
    expect(bed.connections.asked).toEqual(['192.0.2.1 TCP 80', '192.0.2.2 TCP 80', '2001:db8:1::1 TCP 80']);
    expect(report(bed)).toMatchObject({ phase: 'Withdrawn', kept: 0, connections: 3 });

    bed.connections.left = 0;
    await bed.advance(5_000);
    await bed.advance(soon);
    expect(report(bed)).toMatchObject({ phase: 'Drained', connections: 0 });
    expect(steps(bed)).toEqual([]);
    await bed.agent.stop('test');
  });

  test('the node announces as before when the request is gone; the next drain starts afresh', async () => {
    const bed = await started(...other);
    bed.source.put(drained);
    await bed.advance(10_000);
    bed.source.put(plain);
    await bed.advance(soon);
    expect(steps(bed).slice(-3)).toEqual([
      'announce 192.0.2.1/32 to tor1',
      'announce 2001:db8:1::1/128 to tor1',
      'announce 192.0.2.2/32 to tor1',
    ]);
    expect(attributes(bed, '192.0.2.1/32')).toBe(' undefined');
    expect(report(bed)).toBeUndefined();

    await bed.advance(20_000);
    bed.source.put(drained);
    await bed.advance(soon);
    expect(steps(bed)).toEqual([]);
    expect(attributes(bed, '192.0.2.1/32')).toBe('ffff0000 0');
    expect(report(bed)).toMatchObject({ phase: 'Draining' });
    await bed.agent.stop('test');
  });

  test('a drain that is undone during the settle time withdraws nothing', async () => {
    const bed = await started(...other);
    bed.source.put(drained);
    await bed.advance(5_000);
    bed.source.put(plain);
    await bed.advance(20_000);
    expect(steps(bed).filter((line) => line.startsWith('withdraw'))).toEqual([]);
    expect(attributes(bed, '192.0.2.2/32')).toBe(' undefined');
    await bed.agent.stop('test');
  });

  test('a drain ends at the deadline, with the remaining connections, even if they cannot be counted', async () => {
    for (const left of [7, undefined, new RangeError('test')]) {
      const bed = await started(...other);
      bed.connections.left = left;
      bed.source.put(drained);
      await bed.advance(10_000);
      for (let second = 0; second < 60; second += 5) {
        await bed.advance(5_000);
        bed.source.put(otherReport(second + 10));
        expect(report(bed)?.phase).not.toBe('Drained');
      }
      await bed.advance(5_000);
      await bed.advance(soon);
      const { phase, connections } = report(bed) ?? {};
      expect([phase, connections]).toEqual(['Drained', left instanceof Error ? undefined : left]);
      await bed.agent.stop('test');
    }
  });
});

describe('a wall clock that is set during a drain', () => {
  const hour = 3_600;
  /** Sets the wall clock ahead by so many seconds. The agent writes the node again, and the other node keeps reporting. */
  const setClock = async (bed: Testbed, seconds: number): Promise<void> => {
    vi.spyOn(bed.clock, 'date').mockImplementation(() => new Date(Date.UTC(2026, 0, 1) + bed.clock.now() + seconds * 1000));
    bed.source.put(otherReport(seconds + 10));
    bed.source.put(node({ name: 'n1', internalIPs, drain: 'keepLast', labels: { clock: String(seconds) } }));
    await bed.advance(0);
  };

  test.each([hour, -hour])('the settle time stays the same: %i s', async (seconds) => {
    const bed = await started(...other);
    bed.source.put(drained);
    await bed.advance(5_000);
    await setClock(bed, seconds);
    await bed.advance(4_900);
    expect(steps(bed)).toEqual([]);
    await bed.advance(200);
    expect(steps(bed)).toHaveLength(3);
    await bed.agent.stop('test');
  });

  test.each([hour, -hour])('the deadline stays the same: %i s', async (seconds) => {
    const bed = await started(...other);
    bed.connections.left = 7;
    bed.source.put(drained);
    await bed.advance(20_000);
    expect(report(bed)?.phase).toBe('Withdrawn');
    await setClock(bed, seconds);
    for (let passed = 0; passed < 40; passed += 5) await bed.advance(5_000);
    expect(report(bed)?.phase).toBe('Withdrawn');
    for (let passed = 0; passed < 25; passed += 5) await bed.advance(5_000);
    await bed.advance(soon);
    expect(report(bed)).toMatchObject({ phase: 'Drained', connections: 7 });
    await bed.agent.stop('test');
  });
});

describe('the last next hop', () => {
  test('the node keeps its routes with the community until another node announces them', async () => {
    const bed = await started();
    bed.source.put(drained);
    await bed.advance(10_000);
    await bed.advance(5_000);
    await bed.advance(soon);
    expect(steps(bed).filter((line) => line.startsWith('withdraw'))).toEqual([]);
    expect(attributes(bed, '192.0.2.1/32')).toBe('ffff0000 0');
    expect(report(bed)).toMatchObject({ phase: 'Settled', kept: 2 });

    bed.connections.left = 1;
    bed.source.put(...other, otherReport(15));
    await bed.advance(5_000);
    expect(steps(bed).filter((line) => line.startsWith('withdraw'))).toHaveLength(3);
    await bed.advance(soon);
    expect(report(bed)).toMatchObject({ phase: 'Withdrawn', kept: 0 });
    await bed.agent.stop('test');
  });

  test('the node withdraws them if the drain is forced', async () => {
    const bed = await started();
    bed.source.put(forced);
    await bed.advance(10_000);
    expect(steps(bed).filter((line) => line.startsWith('withdraw'))).toHaveLength(3);
    await bed.agent.stop('test');
  });

  test("the node announces them again when the other node's agent falls silent", async () => {
    const bed = await started(...other);
    bed.source.put(drained);
    await bed.advance(10_000);
    expect(steps(bed).filter((line) => line.startsWith('withdraw'))).toHaveLength(3);
    // The report is 91 s old at the fifteenth check from here.
    for (let second = 10; second < 100; second += 5) await bed.advance(5_000);
    expect(steps(bed).filter((line) => line.startsWith('announce'))).toHaveLength(3);
    expect(attributes(bed, '192.0.2.1/32')).toBe('ffff0000 0');
    await bed.agent.stop('test');
  });

  test("the node announces them again when the other node's report no longer lists every Service", async () => {
    const bed = await started(...other);
    bed.source.put(drained);
    await bed.advance(10_000);
    expect(steps(bed).filter((line) => line.startsWith('withdraw'))).toHaveLength(3);
    bed.source.put(otherReport(10, { truncated: true }));
    await bed.advance(5_000);
    expect(steps(bed).filter((line) => line.startsWith('announce'))).toHaveLength(3);
    await bed.advance(soon);
    expect(report(bed)).toMatchObject({ phase: 'Settled', kept: 2 });
    bed.source.put(otherReport(15));
    await bed.advance(5_000);
    expect(steps(bed).filter((line) => line.startsWith('withdraw'))).toHaveLength(3);
    await bed.agent.stop('test');
  });

  test('a Service whose only endpoint with policy Local is on this node stays, others go', async () => {
    const local = [
      ...web('c', ['192.0.2.3'], { externalTrafficPolicy: 'Local' }).slice(0, 1),
      slice({ service: 'c', name: 'c-4', ports: ['80'], endpoints: ['10.1.0.3@n1'] }),
    ];
    const bed = await started(...other, ...local);
    bed.source.put(drained);
    await bed.advance(10_000);
    await bed.advance(soon);
    expect(steps(bed).filter((line) => line.startsWith('withdraw'))).toHaveLength(3);
    expect(report(bed)).toMatchObject({ phase: 'Settled', kept: 1 });
    await bed.agent.stop('test');
  });
});

describe('an agent that starts on a draining node', () => {
  const before = (drain: NodeDrainReport): NodeState => ({ ...otherReport(), metadata: metadata('n1'), drain });
  const since = '2025-12-31T23:59:55Z';

  test('the agent continues the drain of the previous process', async () => {
    const withdrawn = testbed([...basics, settings, ...services, drained, ...other, before({ phase: 'Withdrawn', since, kept: 0 })]);
    await withdrawn.agent.start();
    await withdrawn.advance(1_000);
    expect(withdrawn.takeLog().filter((line) => /^(announce|again)/.test(line))).toEqual([]);
    expect(report(withdrawn)).toMatchObject({ since });
    await withdrawn.agent.stop('test');

    const draining = testbed([...basics, settings, ...services, drained, ...other, before({ phase: 'Draining', since, kept: 0 })]);
    await draining.agent.start();
    await draining.advance(4_900);
    expect(draining.takeLog().filter((line) => line.startsWith('announce'))).toHaveLength(3);
    expect(attributes(draining, '192.0.2.1/32')).toBe('ffff0000 0');
    await draining.advance(200);
    expect(draining.takeLog().filter((line) => line.startsWith('withdraw'))).toHaveLength(3);
    await draining.agent.stop('test');
  });

  test.each([
    { phase: 'Draining', since, kept: 0 },
    { phase: 'Settled', since, kept: 1 },
    { phase: 'Withdrawn', since, kept: 0, withdrawn: since, connections: 4 },
    { phase: 'Drained', since, kept: 0, withdrawn: since, connections: 0 },
  ] as const)('the agent reports no more than the previous process, $phase, until the kernel has the first rules', async (drain) => {
    const bed = testbed([...basics, settings, ...services, drained, ...other, before(drain)], { reportsComeBack: true });
    const kernel = Promise.withResolvers<void>();
    bed.dataplane.answer = () => kernel.promise;
    const starting = bed.agent.start();
    for (let second = 0; second < 30; second += 5) await bed.advance(5_000);
    expect(bed.states.length).toBeGreaterThan(0);
    for (const state of bed.states) expect(state.drain).toEqual(drain);
    expect(bed.connections.asked).toEqual([]);

    kernel.resolve();
    await starting;
    bed.connections.left = 0;
    await bed.advance(soon);
    for (let second = 0; second < 15; second += 5) await bed.advance(5_000);
    await bed.advance(soon);
    expect(bed.connections.asked).not.toEqual([]);
    expect(report(bed)).toMatchObject({ phase: 'Drained', connections: 0 });
    await bed.agent.stop('test');
  });

  test('the agent counts the deadline from where the previous process did', async () => {
    // The 60 s end 25 s after the start.
    const withdrawn = '2025-12-31T23:59:25Z';
    const bed = testbed([...basics, settings, ...services, drained, ...other, before({ phase: 'Withdrawn', since, kept: 0, withdrawn })]);
    bed.connections.left = 7;
    await bed.agent.start();
    for (let second = 0; second < 20; second += 5) await bed.advance(5_000);
    await bed.advance(soon);
    expect(report(bed)).toEqual({ phase: 'Withdrawn', since, kept: 0, withdrawn, connections: 7 });
    await bed.advance(5_000);
    await bed.advance(soon);
    expect(report(bed)).toMatchObject({ phase: 'Drained', withdrawn, connections: 7 });
    await bed.agent.stop('test');
  });
});

test('a node is no longer drained when connections come back before the deadline', async () => {
  const bed = await started(...other);
  bed.source.put(drained);
  await bed.advance(10_000);
  await bed.advance(5_000);
  await bed.advance(soon);
  expect(report(bed)).toMatchObject({ phase: 'Drained', connections: 0 });
  bed.connections.left = 2;
  await bed.advance(5_000);
  await bed.advance(soon);
  expect(report(bed)).toMatchObject({ phase: 'Withdrawn', connections: 2 });
  await bed.agent.stop('test');
});
