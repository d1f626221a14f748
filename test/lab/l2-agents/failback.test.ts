import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
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
 * Starts nodes of which n0 is the best placed one and n1 the next. n0 answers: it starts first, because the first one may keep the addresses.
 * With direct server return also those requests survive that are under way when the owner changes.
 */
async function start(advertisement: object, nodes = 2): Promise<AgentsOnSegment> {
  const bed = await AgentsOnSegment.build({
    nodes,
    advertisement: { ...rankedByNumber, ...advertisement },
    config: directReturn,
    idle: true,
  });
  lab = bed;
  await bed.watch.ask([vip, vip6]);
  bed.startController();
  await bed.startAgent(0);
  await bed.untilOwner(0);
  for (let at = 1; at < nodes; at++) await bed.startAgent(at);
  await until('all stand ready', async (note) => note(await bed.report(nodes - 1)).links !== undefined);
  await bed.untilDirectReturn();
  return bed;
}

/** Kills the agent of n0, waits until n1 answers, and starts it again. */
/** Resolves to the time at which the agent was started again: it returned after that. */
async function failAndReturn(bed: AgentsOnSegment): Promise<number> {
  await bed.kill(0);
  await bed.untilOwner(1);
  const started = wallTime();
  await bed.startAgent(0);
  await until('n0 stands ready again', async (note) => note(await bed.report(0)).links !== undefined);
  return started;
}

describe('rule 8: a better placed node that returns', () => {
  test('takes its addresses back at once with failback immediate, and no request is lost', async () => {
    const bed = await start({ failback: 'immediate' });
    await bed.kill(0);
    await bed.untilOwner(1);
    const probes = [vip, vip6].flatMap((address) =>
      (['tcp', 'udp'] as const).map((protocol) => bed.client.probe({ protocol, address, port: 80, intervalMs: 10, timeoutMs: 2_000 })),
    );
    await bed.startAgent(0);
    await bed.untilOwner(0);
    await sleep(300);
    for (const probe of probes) expect((await probe.stop()).errors).toEqual({});
  });

  test('leaves them with failback never, also after restarts, until the present node fails', async () => {
    const bed = await start({ failback: 'never' });
    await failAndReturn(bed);
    const returned = wallTime();
    // More than the time in which it would have taken them back.
    await sleep(3_000);
    await bed.agent(0).stop();
    await bed.startAgent(0);
    await sleep(3_000);
    for (const address of [vip, vip6]) expect([...(await bed.watch.answers(address, returned)).keys()]).toEqual([bed.segment.macOf(1)]);
    expect(await bed.explain()).toContain('10.77.1.1 is ready to be announced on v0 by ARP: node "n1" answers');
    expect(await bed.condition('web', 'Announced')).toMatchObject({ status: 'True' });
    await bed.kill(1);
    await bed.untilOwner(0);
    await bed.startAgent(1);
    await sleep(3_000);
    await bed.untilOwner(0);
  });

  test('takes them back with failback after when failbackSeconds are over, and no request is lost', async () => {
    const bed = await start({ failback: 'after', failbackSeconds: 5 });
    const started = await failAndReturn(bed);
    const returned = wallTime();
    const probe = bed.client.probe({ protocol: 'tcp', address: vip, port: 80, intervalMs: 10, timeoutMs: 2_000 });
    await bed.untilOwner(0);
    const frames = await bed.watch.frames();
    const firstAnswer = frames.find(({ at, kind, mac }) => kind === 'answer' && at > returned && mac === bed.segment.macOf(0));
    expect((firstAnswer?.at ?? 0) - started).toBeGreaterThan(5_000);
    expect((await probe.stop()).errors).toEqual({});
    // It keeps them until it fails, as before.
    await sleep(2_000);
    await bed.untilOwner(0);
  });
});
