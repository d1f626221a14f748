import { describe, expect, test } from 'vitest';
import { limits } from '../../../../src/agent/limits.ts';
import type { DirectReturnReport, NodeState } from '../../../../src/model/objects/node-state.ts';
import type { Frontend } from '../../../../src/net/frontend.ts';
import { prefix } from '../../../../src/net/prefix.ts';
import { config, metadata, node, service, slice } from '../../decisions/fixtures.ts';
import { basics, testbed, type Testbed } from '../testbed.ts';

const consistent = { assigned: ['192.0.2.1'], clusterIPs: [], ipFamilies: [4] as const, loadBalancing: 'consistent' as const };
const endpoints = slice({ service: 'web', endpoints: ['10.1.0.1@n1', '10.1.0.2@n2'] });
const wanting = service({ name: 'web', ...consistent, directReturn: true });
const others = [node({ name: 'n2', internalIPs: ['10.0.0.2'] }), endpoints];

const other: DirectReturnReport = {
  receives: ['link'],
  passes: ['l2', 'route'],
  networks: [prefix('10.0.0.0/24')],
  linkAddresses: ['02:00:00:00:00:02'],
  interfaces: ['eth0'],
};

function stateOf(name: string, directReturn: DirectReturnReport | undefined, updated = '2026-01-01T00:00:00Z'): NodeState {
  const base: NodeState = { kind: 'NodeState', metadata: metadata(name), updated, consumed: {}, sessions: [], differing: [] };
  return directReturn === undefined ? base : { ...base, directReturn };
}

const external = ({ dataplane }: Testbed): Frontend | undefined =>
  dataplane.desired.get('default/web')?.frontends.find(({ scope, match }) => scope === 'external' && match.kind === 'address');

async function started(objects: Parameters<typeof testbed>[0]): Promise<Testbed> {
  const bed = testbed([...basics, ...others, ...objects], { reportsComeBack: true });
  bed.host.settings.set('net/ipv6/conf/eth0/mtu', '1500');
  await bed.agent.start();
  await bed.advance(limits.reportPauseMilliseconds);
  await bed.settle();
  return bed;
}

describe('direct server return', () => {
  test('the node does not probe for it while no Service wants it', async () => {
    const bed = await started([service({ name: 'web', ...consistent })]);
    expect(bed.dataplane.probes).toEqual([]);
    expect(bed.states.at(-1)).not.toHaveProperty('directReturn');
    expect(external(bed)).not.toHaveProperty('directReturn');
  });

  test('the node reports its support, and uses it when the report has come back', async () => {
    const bed = await started([wanting]);
    expect(bed.dataplane.probes).toEqual(['eth0 / 10.0.0.1,fd00::1']);
    expect(bed.states.at(-1)?.directReturn).toMatchObject({ receives: ['link', 'vxlan'], passes: ['l2', 'route', 'vxlan'], mtu: 1500 });
    expect(external(bed)?.directReturn).toEqual({});
    expect(external(bed)?.backends.map(({ path: passing }) => passing)).toEqual([undefined, undefined]);
  });

  test('the report of the previous process stays valid until the restarted agent has probed', async () => {
    const before = { ...other, receives: ['link', 'vxlan'] as const, linkAddresses: ['02:00:00:00:00:01'] };
    const bed = testbed([...basics, ...others, wanting, stateOf('n1', before), stateOf('n2', other)], { reportsComeBack: true });
    const { promise, resolve } = Promise.withResolvers<void>();
    bed.dataplane.beforeProbe = () => promise;
    await bed.agent.start();
    await bed.advance(limits.reportPauseMilliseconds);
    expect(bed.states.at(-1)?.directReturn).toEqual(before);
    expect(external(bed)?.backends.map(({ path: passing }) => passing)).toEqual([undefined, { ingress: true, routed: 'link' }]);
    bed.host.settings.set('net/ipv6/conf/eth0/mtu', '1400');
    resolve();
    await bed.settle();
    await bed.advance(limits.reportPauseMilliseconds);
    expect(bed.states.at(-1)?.directReturn?.mtu).toBe(1400);
  });

  test('the report of an earlier process is dropped when no Service wants it any more', async () => {
    const bed = await started([service({ name: 'web', ...consistent }), stateOf('n1', other)]);
    expect(bed.states.at(-1)).not.toHaveProperty('directReturn');
  });

  test('the node follows the report of the other node; an unchanged report causes no work', async () => {
    const bed = await started([wanting]);
    const passing = (): unknown => external(bed)?.backends.map((backend) => backend.path);
    bed.source.put(stateOf('n2', other));
    await bed.settle();
    expect(passing()).toEqual([undefined, { ingress: true, routed: 'link' }]);
    const calls = bed.dataplane.calls.length;
    bed.source.put(stateOf('n2', other, '2026-01-01T00:00:30Z'));
    await bed.settle();
    expect(bed.dataplane.calls).toHaveLength(calls);
    bed.source.put(stateOf('n2', { ...other, receives: [] }));
    await bed.settle();
    expect(passing()).toEqual([undefined, undefined]);
  });

  test('a strict reverse-path filter that cannot be changed is reported, and the node receives nothing there', async () => {
    const bed = testbed([...basics, ...others, wanting], { reportsComeBack: true });
    const path = 'net/ipv4/conf/eth0/rp_filter';
    bed.host.settings.set(path, '1');
    bed.host.refused.set(path, 'not permitted');
    await bed.agent.start();
    await bed.advance(limits.reportPauseMilliseconds);
    expect(bed.states.at(-1)?.host).toContainEqual({ code: 'DirectReturnStrictSource', details: { interface: 'eth0' } });
    expect(bed.states.at(-1)?.directReturn?.receives).toEqual(['vxlan']);
    bed.host.settings.set(path, '2');
    await bed.advance(limits.hostCheckMilliseconds);
    await bed.advance(limits.reportPauseMilliseconds);
    expect(bed.states.at(-1)?.directReturn?.receives).toEqual(['link', 'vxlan']);
    expect(bed.states.at(-1)).not.toHaveProperty('host');
  });

  test('the agent relaxes a tunnel of its own that the host made strict', async () => {
    const bed = testbed([...basics, ...others, wanting], { reportsComeBack: true });
    bed.host.settings.set('net/ipv4/conf/herald-vx4/rp_filter', '1');
    await bed.agent.start();
    await bed.advance(limits.reportPauseMilliseconds);
    expect(bed.host.written).toEqual(['net/ipv4/conf/herald-vx4/rp_filter=2']);
    expect(bed.states.at(-1)?.directReturn?.receives).toEqual(['link', 'vxlan']);
  });

  test("the report names what the kernel lacks, in the kernel's words", async () => {
    const bed = testbed([...basics, ...others, wanting], { reportsComeBack: true });
    bed.dataplane.lacks = { l2: 'no such hook', vxlan: 'Operation not supported' };
    await bed.agent.start();
    await bed.advance(limits.reportPauseMilliseconds);
    expect(bed.states.at(-1)?.host?.map(({ code }) => code)).toEqual(['DirectReturnUnsupported', 'DirectReturnUnsupported']);
    expect(bed.states.at(-1)?.directReturn).toMatchObject({ receives: ['link'], passes: ['route'] });
  });

  test('probing ends when no Service wants it any more, and a new mode is probed at once', async () => {
    const bed = await started([wanting]);
    bed.source.put(config({ directReturnMode: 'vxlan' }));
    await bed.settle();
    await bed.advance(limits.reportPauseMilliseconds);
    expect(bed.dataplane.probes.at(-1)).toBe(' / 10.0.0.1,fd00::1');
    expect(bed.states.at(-1)?.directReturn?.receives).toEqual(['vxlan']);
    bed.source.put(service({ name: 'web', ...consistent }));
    await bed.settle();
    await bed.advance(limits.reportPauseMilliseconds);
    expect(bed.states.at(-1)).not.toHaveProperty('directReturn');
    expect(external(bed)).not.toHaveProperty('directReturn');
  });
});
