import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { until } from '../../lab/until.ts';
import { Bed } from './bed.ts';
import { herald, loadBalancer } from './objects.ts';

const deadlineSeconds = 30;

/** Work on a node, and two versions beside each other. */
export function testPlannedWork(bed: () => Bed): void {
  test('a node drained by `herald drain` and `kubectl drain` loses only requests that move', async () => {
    const { cluster } = bed();
    const node = cluster.node('node3');
    const others = cluster.nodes.filter((one) => one !== node);
    const report = await bed().underLoad(async () => {
      // A connection that moved leaves a server that repeats its last packet here for minutes, which counts as a connection until the deadline.
      await cluster.apply(herald('HeraldConfig', 'default', { nodeDrain: { deadlineSeconds } }));
      const drained = await bed().herald(['drain', node.name]);
      expect(drained).toMatchObject({ code: 0, stderr: '' });
      expect(drained.stdout).toMatch(/^drained: /m);
      await cluster.kubectl(['drain', node.name, '--ignore-daemonsets', '--delete-emptydir-data', '--timeout=5m']);
      await bed().untilAnnounced(others);
      await node.powerOff();
      await cluster.untilReady(node.name, 'Unknown');
      await node.powerOn();
      await cluster.untilReady(node.name);
      await cluster.kubectl(['uncordon', node.name]);
      await bed().untilRolledOut();
      const back = await bed().herald(['drain', node.name, '--uncordon']);
      expect(back).toMatchObject({ code: 0, stderr: '' });
      await bed().untilAllSessions();
      await bed().untilAnnounced();
      await sleep(2000);
    });
    Bed.expectOnlyMoved(report);
    expect(report.answered).toBeGreaterThan(100);
  });

  test('agents and controllers of two versions work beside each other', async () => {
    const { cluster, method, nextImage, image } = bed();
    const [first] = cluster.nodes;
    if (first === undefined) return expect.fail('there is no node');
    const report = await bed().underLoad(async () => {
      // The strategy OnDelete leaves agents of the earlier version where nobody deletes them.
      await strategy(bed(), { type: 'OnDelete', rollingUpdate: null });
      await bed().kubectl('set', 'image', 'deployment/herald-controller', `controller=${nextImage}`);
      await bed().kubectl('set', 'image', 'daemonset/herald-agent', `agent=${nextImage}`);
      await bed().kubectl('delete', 'pod', await bed().agentOf(first));
      await until(
        'one agent has the next version',
        async (note) => {
          const ready =
            '--output=jsonpath={range .items[?(@.status.containerStatuses[0].ready==true)]}{.spec.containers[0].image}{"\\n"}{end}';
          const images = (await bed().kubectl('get', 'pods', '--selector=app.kubernetes.io/component=agent', ready)).split('\n');
          return note(images).filter((one) => one === nextImage).length === 1 && images.length === cluster.nodes.length;
        },
        120_000,
      );
      await bed().kubectl('rollout', 'status', 'deployment/herald-controller', '--timeout=5m');
      await cluster.apply(loadBalancer('beside'));
      await bed().untilAnnounced(cluster.nodes, 'beside');
      await cluster.kubectl(['delete', 'service', 'beside']);
      await strategy(bed(), { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1 } });
      await bed().untilRolledOut();
      await method.upgrade(cluster, image, { force: true });
      await bed().untilRolledOut();
      await bed().untilAllSessions();
    });
    Bed.expectNoLoss(report);
    Bed.expectNoRouteChange(report);
  });
}

async function strategy(bed: Bed, updateStrategy: object): Promise<void> {
  await bed.kubectl('patch', 'daemonset', 'herald-agent', '--type=merge', `--patch=${JSON.stringify({ spec: { updateStrategy } })}`);
}
