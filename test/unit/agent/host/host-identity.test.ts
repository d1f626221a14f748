import { describe, expect, test } from 'vitest';
import { agentHealth } from '../../../../src/agent/metrics/agent-health.ts';
import { limits } from '../../../../src/agent/limits.ts';
import { reasonText } from '../../../../src/model/reasons.ts';
import type { NodeState } from '../../../../src/model/objects/node-state.ts';
import { metadata, node } from '../../decisions/fixtures.ts';
import { basics, testbed, web, type Testbed } from '../testbed.ts';

const services = web('a', ['192.0.2.1', '2001:db8:1::1']);
const both = ['announce 192.0.2.1/32 to tor1', 'announce 2001:db8:1::1/128 to tor1'];

async function started(prepare: (bed: Testbed) => void = () => undefined): Promise<Testbed> {
  const bed = testbed([...basics, ...services], { reportsComeBack: true });
  prepare(bed);
  await bed.agent.start();
  await bed.settle();
  return bed;
}

/** The host has other addresses than Node n1. */
function elsewhere({ host }: Testbed): void {
  host.list = [{ name: 'eth0', address: '10.0.0.2', length: 24 }];
  host.others = ['127.0.0.1', '::1', 'fd00::2'];
}

const routes = (bed: Testbed): string[] => bed.takeLog().filter((line) => /announce|withdraw/.test(line));
const ready = (bed: Testbed): string | undefined => agentHealth(() => bed.agent.status(), bed.clock).ready?.();
const codes = (bed: Testbed): string[] => bed.agent.status().host.map(({ code }) => code);

describe('an agent on another host than its Node', () => {
  test('it announces nothing and says why in its report, its health and its problems', async () => {
    const bed = await started(elsewhere);
    await bed.advance(limits.reportPauseMilliseconds);
    expect(routes(bed)).toEqual([]);
    const { problem, host } = bed.states.at(-1) ?? {};
    expect(problem?.code).toBe('NodeNotThisHost');
    expect(problem === undefined ? '' : reasonText(problem)).toBe(
      'the agent with --node n1 runs on a host that has no InternalIP of Node "n1" (10.0.0.1, fd00::1): it announces nothing. The host has 10.0.0.2, fd00::2',
    );
    expect(host).toBeUndefined();
    expect(codes(bed)).toEqual(['NodeNotThisHost']);
    expect(ready(bed)).toContain('no InternalIP of Node "n1"');
  });

  test('it leaves the recent report of the right agent alone, and reports once that one is silent', async () => {
    const right = (bed: Testbed): NodeState => ({
      kind: 'NodeState',
      metadata: metadata('n1'),
      updated: bed.clock.date().toISOString(),
      writer: 'right',
      consumed: {},
      sessions: [],
      differing: [],
    });
    const bed = await started((before) => {
      elsewhere(before);
      before.source.put(right(before));
    });
    for (let seconds = 0; seconds < 60; seconds += 10) {
      bed.source.put(right(bed));
      await bed.advance(10_000);
    }
    expect(bed.states).toEqual([]);
    expect(routes(bed)).toEqual([]);
    for (let seconds = 0; seconds < 150; seconds += 10) await bed.advance(10_000);
    expect(bed.states.at(-1)?.problem?.code).toBe('NodeNotThisHost');
    // The right agent is back.
    const written = bed.states.length;
    bed.source.put(right(bed));
    await bed.agent.stop('bye');
    expect(bed.states).toHaveLength(written);
  });

  test('it announces when the Node gets an address of the host', async () => {
    const bed = await started(elsewhere);
    expect(routes(bed)).toEqual([]);
    bed.source.put(node({ name: 'n1', internalIPs: ['10.0.0.2'] }));
    await bed.settle();
    expect(routes(bed)).toEqual(both);
    expect(ready(bed)).toBeUndefined();
  });
});

describe('an agent on the host of its Node', () => {
  test.each<[string, (bed: Testbed) => void]>([
    ['one InternalIP is on an uplink', (bed) => void (bed.host.others = [])],
    ['the InternalIP is on a loopback interface', ({ host }) => void ((host.list = []), (host.others = ['fd00:0:0::1']))],
    ['the link of the InternalIP is down', ({ host }) => void ((host.list = []), (host.others = []), (host.bindable = ['10.0.0.1']))],
  ])('it announces when %s', async (_, prepare) => {
    const bed = await started(prepare);
    expect(routes(bed)).toEqual(both);
    expect(codes(bed)).toEqual([]);
  });

  test('it keeps announcing when its address vanishes with a link', async () => {
    const bed = await started();
    bed.takeLog();
    bed.host.list = [];
    bed.host.others = [];
    await bed.advance(limits.hostCheckMilliseconds);
    await bed.advance(limits.hostCheckMilliseconds);
    expect(routes(bed)).toEqual([]);
  });

  test('an address that every program may bind to proves nothing', async () => {
    const bed = await started((before) => {
      elsewhere(before);
      before.host.bindable = ['10.0.0.1'];
      before.host.settings.set('net/ipv4/ip_nonlocal_bind', '1');
    });
    expect(routes(bed)).toEqual([]);
  });
});

test('an agent announces with a warning when its Node has no InternalIP', async () => {
  const bed = await started(({ source }) => source.put(node({ name: 'n1', internalIPs: [] })));
  await bed.advance(limits.reportPauseMilliseconds);
  expect(routes(bed)).toEqual(both);
  expect(bed.states.at(-1)?.host?.map(({ code }) => code)).toEqual(['NodeWithoutInternalIP']);
  expect(ready(bed)).toBeUndefined();
});

test('an agent without a Node says so in its report, its health and its problems', async () => {
  const bed = await started(({ source }) => source.remove(node({ name: 'n1' })));
  await bed.advance(limits.reportPauseMilliseconds);
  expect(routes(bed)).toEqual([]);
  expect(bed.states.at(-1)?.host?.map(({ code }) => code)).toEqual(['NodeUnknown']);
  expect(ready(bed)).toContain('there is no Node object "n1"');
});
