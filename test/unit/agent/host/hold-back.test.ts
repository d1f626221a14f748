import { describe, expect, test } from 'vitest';
import { limits } from '../../../../src/agent/limits.ts';
import type { HostFilter } from '../../../../src/net/host-filter.ts';
import type { NodeState } from '../../../../src/model/objects/node-state.ts';
import { config, metadata, node } from '../../decisions/fixtures.ts';
import { basics, testbed, web, type Testbed } from '../testbed.ts';

const forwarding4 = ['net/ipv4/ip_forward', 'net/ipv4/conf/eth0/forwarding'];
const forwarding6 = 'net/ipv6/conf/all/forwarding';
const v4 = '192.0.2.1/32 to tor1';
const v6 = '2001:db8:1::1/128 to tor1';

/** The report of the other node's agent. */
function otherReport(bed: Testbed | undefined, more: Partial<NodeState> = {}): NodeState {
  const session = { peer: 'tor1', address: '10.0.0.254', state: 'Established', since: '2026-01-01T00:00:00Z' } as const;
  return {
    kind: 'NodeState',
    metadata: metadata('n2'),
    updated: bed?.clock.date().toISOString() ?? '2026-01-01T00:00:00Z',
    consumed: {},
    sessions: [{ ...session, localASN: 64512, peerASN: 64513, prefixesSent: 0 }],
    differing: [],
    ...more,
  };
}

/** Starts the agent of n1 beside n2. The agent may not write kernel settings, as with kernelSettings: report. */
async function started(prepare: (bed: Testbed) => void = () => undefined): Promise<Testbed> {
  const other = [node({ name: 'n2', internalIPs: ['10.0.0.2', 'fd00::2'] }), otherReport(undefined)];
  const bed = testbed([...basics, ...web('a', ['192.0.2.1', '2001:db8:1::1']), ...other], { reportsComeBack: true });
  for (const path of [...forwarding4, forwarding6]) bed.host.refused.set(path, 'not permitted');
  prepare(bed);
  await bed.agent.start();
  await bed.settle();
  return bed;
}

const off = (bed: Testbed): void => forwarding4.forEach((path) => bed.host.settings.set(path, '0'));
const on = (bed: Testbed): void => forwarding4.forEach((path) => bed.host.settings.set(path, '1'));

/** Lets time pass while the other node keeps reporting. */
async function pass(bed: Testbed, milliseconds: number, other: Partial<NodeState> = {}): Promise<string[]> {
  for (let left = milliseconds; left > 0; left -= 1_000) {
    bed.source.put(otherReport(bed, other));
    await bed.advance(Math.min(1_000, left));
  }
  await bed.advance(limits.reportPauseMilliseconds);
  return bed.takeLog().filter((line) => /announce|withdraw/.test(line));
}
const reported = (bed: Testbed): unknown[] =>
  (bed.states.at(-1)?.heldBack ?? []).map(({ family, settled, reason }) => [family, settled, reason.code]);
/** The delay in steps of the clock, which make each interval longer by up to a step. */
const delay = limits.holdBackMilliseconds + 2 * limits.forwardingCheckMilliseconds;

describe('a host that stops forwarding', () => {
  test('the agent reports it within seconds and withdraws the routes of the family after the delay', async () => {
    const bed = await started();
    bed.takeLog();
    off(bed);
    expect(await pass(bed, limits.forwardingCheckMilliseconds)).toEqual([]);
    expect(reported(bed)).toEqual([['IPv4', false, 'KernelSettingWrong']]);
    expect(await pass(bed, limits.holdBackMilliseconds - 2_000)).toEqual([]);
    expect(await pass(bed, delay - limits.holdBackMilliseconds + 2_000)).toEqual([`withdraw ${v4}`]);
    expect(reported(bed)).toEqual([['IPv4', true, 'KernelSettingWrong']]);
  });

  test('the agent announces again only after the host has forwarded for a longer time', async () => {
    const bed = await started();
    off(bed);
    await pass(bed, delay);
    on(bed);
    expect(await pass(bed, limits.resumeMilliseconds - 1_000)).toEqual([]);
    expect(await pass(bed, 4 * limits.forwardingCheckMilliseconds)).toEqual([`announce ${v4}`]);
    expect(reported(bed)).toEqual([]);
  });

  test('a setting that is off for a moment moves no route', async () => {
    const bed = await started();
    bed.takeLog();
    off(bed);
    await pass(bed, limits.forwardingCheckMilliseconds);
    on(bed);
    expect(await pass(bed, 60_000)).toEqual([]);
    expect(reported(bed)).toEqual([]);
  });

  test('a setting that flaps withdraws the routes once', async () => {
    const bed = await started();
    bed.takeLog();
    const steps: string[] = [];
    for (let turn = 0; turn < 10; turn++) {
      off(bed);
      steps.push(...(await pass(bed, 4_000)));
      on(bed);
      steps.push(...(await pass(bed, 4_000)));
    }
    expect(steps).toEqual([`withdraw ${v4}`]);
  });

  test('a setting that the agent may write is repaired within seconds and moves no route', async () => {
    const bed = await started(({ host }) => host.refused.clear());
    bed.takeLog();
    off(bed);
    expect(await pass(bed, limits.forwardingCheckMilliseconds)).toEqual([]);
    expect(bed.host.written).toEqual(['net/ipv4/ip_forward=1', 'net/ipv4/conf/eth0/forwarding=1']);
    expect(await pass(bed, 60_000)).toEqual([]);
  });

  test('a host that does not forward when the agent starts is not announced first', async () => {
    const bed = await started((before) => before.host.settings.set(forwarding6, '0'));
    expect(bed.takeLog().filter((line) => line.startsWith('announce'))).toEqual([`announce ${v4}`]);
  });

  test('a filter that drops holds back the families of its table', async () => {
    const bed = await started();
    bed.takeLog();
    const drops: HostFilter = {
      hook: 'forward',
      priority: 0,
      backend: 'nft',
      family: 'ip6',
      table: 'filter',
      chain: 'FORWARD',
      policy: 'drop',
      chains: new Map(),
    };
    bed.host.filters = [drops];
    expect(await pass(bed, limits.filterCheckMilliseconds + delay)).toEqual([`withdraw ${v6}`]);
    expect(reported(bed)).toEqual([['IPv6', true, 'ForwardFilterDrops']]);
    bed.host.filters = [];
    expect(await pass(bed, limits.filterCheckMilliseconds + limits.resumeMilliseconds + limits.forwardingCheckMilliseconds)).toEqual([
      `announce ${v6}`,
    ]);
  });

  test('with hostProblems: report it keeps announcing and holds nothing back', async () => {
    const bed = await started(({ source }) => source.put(config({ hostProblems: 'report' })));
    bed.takeLog();
    off(bed);
    expect(await pass(bed, 60_000)).toEqual([]);
    expect(reported(bed)).toEqual([]);
    expect(bed.states.at(-1)?.host?.map(({ code }) => code)).toContain('KernelSettingWrong');
  });
});

describe('the last next hop', () => {
  const alsoHeld = (bed: Testbed): Partial<NodeState> => ({ heldBack: bed.states.at(-1)?.heldBack ?? [] });

  test('it stays when the other node holds back too, and withdraws once that one forwards', async () => {
    const bed = await started();
    bed.takeLog();
    off(bed);
    await pass(bed, limits.forwardingCheckMilliseconds);
    const other = alsoHeld(bed);
    expect(await pass(bed, 60_000, other)).toEqual([]);
    expect(await pass(bed, limits.forwardingCheckMilliseconds)).toEqual([`withdraw ${v4}`]);
  });

  test('it announces again when the other node stops forwarding too', async () => {
    const bed = await started();
    off(bed);
    await pass(bed, limits.forwardingCheckMilliseconds);
    const other = alsoHeld(bed);
    await pass(bed, delay);
    expect(await pass(bed, limits.forwardingCheckMilliseconds, other)).toEqual([`announce ${v4}`]);
  });

  test('it announces again when the other node falls silent', async () => {
    const bed = await started();
    off(bed);
    await pass(bed, delay);
    bed.takeLog();
    for (let seconds = 0; seconds < 100; seconds++) await bed.advance(1_000);
    expect(bed.takeLog().filter((line) => line.startsWith('announce'))).toEqual([`announce ${v4}`]);
  });
});
