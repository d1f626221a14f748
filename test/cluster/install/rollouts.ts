import { expect, test } from 'vitest';
import { Bed } from './bed.ts';

/** Restarts and changes of version that a user makes on purpose: nothing may be lost. */
export function testRollouts(bed: () => Bed): void {
  test('a restart of all agents loses no request and changes no route of the ToR', async () => {
    const report = await bed().underLoad(async () => {
      await bed().kubectl('rollout', 'restart', 'daemonset/herald-agent');
      await bed().untilRolledOut();
      await bed().untilAllSessions();
    });
    Bed.expectNoLoss(report);
    Bed.expectNoRouteChange(report);
  });

  test('a restart of the controllers loses no request, and a new Service gets an address afterwards', async () => {
    const report = await bed().underLoad(async () => {
      await bed().kubectl('rollout', 'restart', 'deployment/herald-controller');
      await bed().untilRolledOut();
    });
    Bed.expectNoLoss(report);
    Bed.expectNoRouteChange(report);
  });

  test('an upgrade to the next version and back loses no request and changes no route of the ToR', async () => {
    const { method, cluster, image, nextImage } = bed();
    for (const version of [nextImage, image]) {
      const report = await bed().underLoad(async () => {
        await method.upgrade(cluster, version);
        await bed().untilRolledOut();
        await bed().untilAllSessions();
      });
      Bed.expectNoLoss(report);
      Bed.expectNoRouteChange(report);
      const images = await bed().kubectl('get', 'pods', '--output=jsonpath={.items[*].spec.containers[*].image}');
      expect(new Set(images.split(' '))).toEqual(new Set([version]));
    }
  });
}
