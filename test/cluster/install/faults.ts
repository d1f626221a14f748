import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { until } from '../../lab/until.ts';
import { Bed } from './bed.ts';
import { killByMemory } from './memory.ts';

/** Milliseconds until every agent has programmed a change of endpoints, on a busy machine too. */
const settledMs = 5000;

/** Milliseconds for which the other nodes serve alone, once neither the ToR nor the endpoints name the lost node. */
const quietMs = 10_000;

/** Events that nobody plans. Requests on their way to the lost node are lost, and no others. */
export function testFaults(bed: () => Bed): void {
  test('an agent that the kernel kills for its memory comes back, and only requests that move are lost', async () => {
    const [node] = bed().cluster.nodes;
    if (node === undefined) return expect.fail('there is no node');
    const restarts = async (): Promise<number> => {
      const path = '--output=jsonpath={.status.containerStatuses[0].restartCount}';
      return Number(await bed().kubectl('get', 'pod', await bed().agentOf(node), path));
    };
    const before = await restarts();
    const report = await bed().underLoad(async () => {
      await killByMemory(node, await bed().agentOf(node), bed());
      await until('the kubelet has started the agent again', async (note) => note(await restarts()) > before, 120_000);
      await bed().untilRolledOut();
      await bed().untilAllSessions();
      await bed().untilAnnounced();
    });
    const reason = '--output=jsonpath={.status.containerStatuses[0].lastState.terminated.reason}';
    expect(await bed().kubectl('get', 'pod', await bed().agentOf(node), reason)).toBe('OOMKilled');
    // FRR 8.4 drops the routes of an agent that was killed if the next one is there before BFD has noticed (docs/explanation/failure-modes.md).
    Bed.expectOnlyMoved(report);
    expect(report.answered).toBeGreaterThan(100);
  });

  test('a lost node costs requests until ToR and endpoints drop it, its return only those that move', async () => {
    const { cluster } = bed();
    const node = cluster.node('node2');
    let noticed = 0;
    let returned = 0;
    const report = await bed().underLoad(async () => {
      await node.powerOff();
      const others = cluster.nodes.filter((one) => one !== node);
      await until(
        'the ToR has no session with the node',
        async (note) => note(await bed().sessions()) === others.length * cluster.plan.families.length,
      );
      // Pods of the lost node stay endpoints until the API server takes the node for lost.
      await cluster.untilReady(node.name, 'Unknown');
      await until(
        'no endpoint is on the lost node',
        async (note) => {
          const ready = '--output=jsonpath={range .items[*].endpoints[?(@.conditions.ready==true)]}{.nodeName}{"\\n"}{end}';
          const { stdout } = await cluster.kubectl(['get', 'endpointslices', '--selector=kubernetes.io/service-name=web', ready]);
          return !note(stdout).includes(node.name);
        },
        120_000,
      );
      // Agents program the change of endpoints now.
      await sleep(settledMs);
      noticed = Date.now();
      await sleep(quietMs);
      returned = Date.now();
      await node.powerOn();
      await cluster.untilReady(node.name);
      await bed().untilRolledOut();
      await bed().untilAllSessions();
      await bed().untilAnnounced();
      await sleep(5000);
    });
    const quiet = report.lost.filter(({ at }) => at > noticed && at < returned);
    expect(quiet.map(({ stream, error, at }) => `${stream}: ${error}, asked ${Math.round(at - noticed)} ms later`)).toEqual([]);
    Bed.expectOnlyMoved(report, returned);
    expect(report.answered).toBeGreaterThan(100);
  });
}
