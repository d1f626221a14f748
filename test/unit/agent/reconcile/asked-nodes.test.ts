import { describe, expect, test } from 'vitest';
import type { NodeState } from '../../../../src/model/objects/node-state.ts';
import { reason } from '../../../../src/model/reasons.ts';
import { advertisement, metadata, node } from '../../decisions/fixtures.ts';
import { basics, testbed, web, type Testbed } from '../testbed.ts';

/** One next hop for each address, and two nodes: n1, whose agent runs here, and n2, which exists as a report. */
const bound = advertisement({ name: 'all', maxNextHops: 1 });
const addresses = Array.from({ length: 12 }, (_, index) => `192.0.2.${index + 1}`);
const services = addresses.flatMap((address, index) => web(`s${String(index + 1).padStart(2, '0')}`, [address]));
const other = node({ name: 'n2', internalIPs: ['10.0.0.2', 'fd00::2'] });

/** The report of n2's agent at `seconds` of the virtual clock. */
function report(seconds = 0, more: Partial<NodeState> = {}): NodeState {
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

/** A report is written, read and acted on shortly after a change. */
const soon = 1_000;

async function started(...more: Parameters<typeof testbed>[0]): Promise<Testbed> {
  const bed = testbed([...basics.filter(({ kind }) => kind !== 'BGPAdvertisement'), ...services, ...more], { reportsComeBack: true });
  await bed.agent.start();
  await bed.advance(soon);
  return bed;
}

/** What n1 announced and withdrew since the last call, by Service. */
function steps(bed: Testbed): string[] {
  return bed.takeLog().filter((line) => /^(announce|withdraw)/.test(line));
}

const of = (verb: string, some: readonly string[]): string[] => some.map((address) => `${verb} ${address}/32 to tor1`);

/** The addresses that n1 leaves to n2. */
const left = await (async () => {
  const bed = await started(bound, other, report());
  steps(bed);
  bed.source.put(report(1, { sessions: [] }));
  await bed.advance(soon);
  const announced = steps(bed);
  await bed.agent.stop('test');
  return addresses.filter((address) => announced.includes(`announce ${address}/32 to tor1`));
})();

describe('routes under maxNextHops', () => {
  test('each of two nodes announces a part of the addresses', async () => {
    const bed = await started(bound, other, report());
    const log = steps(bed);
    expect(left.length).toBeGreaterThan(1);
    expect(left.length).toBeLessThan(addresses.length - 1);
    for (const address of addresses.filter((one) => !left.includes(one))) expect(log).toContain(`announce ${address}/32 to tor1`);
    await bed.agent.stop('test');
  });

  test('are all announced while no report has been read, for the first nodes of an address may be dead', async () => {
    const bed = testbed([...basics.filter(({ kind }) => kind !== 'BGPAdvertisement'), ...services, bound, other]);
    await bed.agent.start();
    await bed.advance(soon);
    expect(steps(bed).toSorted()).toEqual(of('announce', addresses).toSorted());
    bed.source.put(report());
    await bed.advance(soon);
    expect(steps(bed).toSorted()).toEqual(of('withdraw', left).toSorted());
    await bed.agent.stop('test');
  });

  test('come while the other node has no session, and go when it has one again', async () => {
    const bed = await started(bound, other, report());
    steps(bed);
    bed.source.put(report(1, { sessions: [] }));
    await bed.advance(soon);
    expect(steps(bed).toSorted()).toEqual(of('announce', left).toSorted());
    bed.source.put(report(2));
    await bed.advance(soon);
    expect(steps(bed).toSorted()).toEqual(of('withdraw', left).toSorted());
    await bed.agent.stop('test');
  });

  test('of one Service come when the report of the other node differs in it, and no other route is sent', async () => {
    const bed = await started(bound, other, report());
    steps(bed);
    const [address = ''] = left;
    const service = `default/s${String(addresses.indexOf(address) + 1).padStart(2, '0')}` as const;
    bed.dataplane.calls.splice(0);
    const because = reason('NotProgrammed', { frontend: `${address} TCP 80` });
    bed.source.put(report(1, { differing: [{ service, aspect: 'Programmed', reason: because }] }));
    await bed.advance(soon);
    expect(steps(bed)).toEqual(of('announce', [address]));
    expect(bed.dataplane.calls).toEqual([[service]]);
    await bed.agent.stop('test');
  });

  test('come when the report of the other node is too old, without any change of an object', async () => {
    const bed = await started(bound, other, report());
    steps(bed);
    await bed.advance(80_000);
    expect(steps(bed)).toEqual([]);
    await bed.advance(15_000);
    await bed.advance(soon);
    expect(steps(bed).toSorted()).toEqual(of('announce', left).toSorted());
    await bed.agent.stop('test');
  });

  test('come when the other Node is deleted, and are chosen anew when it returns', async () => {
    const bed = await started(bound, other, report());
    steps(bed);
    bed.source.remove(other);
    await bed.advance(soon);
    expect(steps(bed).toSorted()).toEqual(of('announce', left).toSorted());
    bed.source.put(other);
    await bed.advance(soon);
    expect(steps(bed).toSorted()).toEqual(of('withdraw', left).toSorted());
    await bed.agent.stop('test');
  });

  test('a bound that is set later and taken away again', async () => {
    const bed = await started(advertisement({ name: 'all' }), other, report());
    expect(steps(bed)).toHaveLength(addresses.length);
    bed.source.put(bound);
    await bed.advance(soon);
    expect(steps(bed).toSorted()).toEqual(of('withdraw', left).toSorted());
    bed.source.put(report(1, { sessions: [] }));
    await bed.advance(soon);
    expect(steps(bed).toSorted()).toEqual(of('announce', left).toSorted());
    bed.source.put(report(2));
    await bed.advance(soon);
    expect(steps(bed)).toHaveLength(left.length);
    bed.source.put(advertisement({ name: 'all' }));
    await bed.advance(soon);
    expect(steps(bed).toSorted()).toEqual(of('announce', left).toSorted());
    await bed.agent.stop('test');
  });

  test('without a bound a report of another node plans nothing', async () => {
    const bed = await started(advertisement({ name: 'all' }), other, report());
    steps(bed);
    bed.dataplane.calls.splice(0);
    bed.source.put(report(1, { sessions: [] }));
    await bed.advance(soon);
    expect(steps(bed)).toEqual([]);
    expect(bed.dataplane.calls).toEqual([]);
    await bed.agent.stop('test');
  });
});
