import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import type { Probe } from '../probe.ts';
import { until } from '../until.ts';
import { AgentsOnSegment, vip, vip6 } from './agents-on-segment.ts';
import { directReturn, rankedByNumber } from './manifests.ts';
import { wallTime } from './watch.ts';

let lab: AgentsOnSegment | undefined;

afterEach(async () => {
  await lab?.close();
  lab = undefined;
});

/**
 * Starts nodes of which n0 is the best placed one. It answers, and clients send requests over both protocols and families. With direct server
 * return also those survive that are under way when the owner changes.
 */
async function start(nodes = 2): Promise<{ bed: AgentsOnSegment; probes: readonly Probe[]; began: number }> {
  const bed = await AgentsOnSegment.build({ nodes, advertisement: rankedByNumber, config: directReturn });
  lab = bed;
  await bed.watch.ask([vip, vip6]);
  await bed.untilOwner(0);
  await bed.untilDirectReturn();
  const probe = (protocol: 'tcp' | 'udp', address: string, intervalMs: number): Probe =>
    bed.client.probe({ protocol, address, port: 80, intervalMs, timeoutMs: 3_000 });
  const probes = [probe('tcp', vip, 5), probe('udp', vip, 5), probe('tcp', vip6, 20), probe('udp', vip6, 20)];
  await until('requests are answered', () => probes.every(({ outcomes }) => outcomes.some(({ ok }) => ok)));
  return { bed, probes, began: wallTime() };
}

async function expectNoLoss({ bed, probes, began }: Awaited<ReturnType<typeof start>>): Promise<void> {
  await sleep(300);
  for (const probe of probes) expect((await probe.stop()).errors).toEqual({});
  for (const address of [vip, vip6]) {
    expect(await bed.watch.longestSilence(address, began, wallTime())).toBeLessThan(1_000);
    expect(await bed.watch.longestOverlap(address, began)).toBeLessThan(1_000);
  }
}

const drained = (text: string): string => text.replace('name: n0\n', 'name: n0\n  annotations: { herald.dev/drain: "true" }\n');

describe('rule 8: an owner hands over', () => {
  test('when SIGTERM stops its agent, as in an upgrade, and gets the addresses back when it starts', async () => {
    const run = await start();
    const { bed } = run;
    const stopped = bed.agent(0).stop();
    await bed.untilOwner(1);
    expect(await stopped).toMatchObject({ code: 0 });
    await bed.startAgent(0);
    await bed.untilOwner(0);
    await expectNoLoss(run);
  });

  test('when all agents are restarted one after the other', async () => {
    const run = await start(3);
    for (const at of [0, 1, 2]) {
      await run.bed.agent(at).stop();
      await run.bed.startAgent(at);
    }
    await run.bed.untilOwner(0);
    await expectNoLoss(run);
  });

  test('when its node is drained, and gets the addresses back when the drain ends', async () => {
    const run = await start();
    const { bed } = run;
    await bed.edit('10-nodes.yaml', drained);
    await bed.untilOwner(1);
    expect(await bed.condition('web', 'Announced')).toMatchObject({ status: 'True' });
    await bed.edit('10-nodes.yaml', (text) => text.replace(/ {2}annotations: \{ herald.dev\/drain.*\n/, ''));
    await bed.untilOwner(0);
    await expectNoLoss(run);
  });

  test('when its node is drained by force', async () => {
    const run = await start();
    await run.bed.edit('10-nodes.yaml', (text) => drained(text).replace('"true"', 'force'));
    await run.bed.untilOwner(1);
    await expectNoLoss(run);
  });

  test('when its Node is deleted', async () => {
    const run = await start();
    const { bed } = run;
    await bed.edit('10-nodes.yaml', (text) =>
      text
        .split('---\n')
        .filter((one) => !one.includes('name: n0\n'))
        .join('---\n'),
    );
    await bed.untilOwner(1);
    await expectNoLoss(run);
  });

  test('not at all when it is the only one and drains', async () => {
    const run = await start(1);
    await run.bed.edit('10-nodes.yaml', drained);
    await until('the drain has begun', async (note) => note(await run.bed.report(0)).drain !== undefined);
    await sleep(1_000);
    await expectNoLoss(run);
  });
});

describe('a candidate whose kernel does not forward', () => {
  test('L2-5 never answers, although it is the best placed one', async () => {
    const bed = await AgentsOnSegment.build({ nodes: 2, advertisement: rankedByNumber, idle: true });
    lab = bed;
    await bed.watch.ask([vip, vip6]);
    bed.startController();
    // Without the capability it programs no rules. It also cannot open BFD and packet sockets of other hosts, but it sees all objects.
    bed.wrap(0, 'setpriv', '--bounding-set=-net_admin', '--inh-caps=-net_admin');
    await Promise.all([bed.startAgent(0), bed.startAgent(1)]);
    await bed.untilOwner(1);
    await sleep(2_000);
    for (const address of [vip, vip6]) expect([...(await bed.watch.answers(address, 0)).keys()]).toEqual([bed.segment.macOf(1)]);
    await bed.kill(0);
    bed.wrap(0);
    await bed.startAgent(0);
    await bed.untilOwner(0);
  });
});
