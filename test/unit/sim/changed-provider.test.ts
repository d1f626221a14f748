import { expect, test } from 'vitest';
import type { Service } from '../../../src/model/objects/service.ts';
import { ControllerFixture } from '../../../providers/aws/test/support/controller-fixture.ts';
import { awsMember } from '../../../providers/aws/test/support/stack-fixture.ts';
import { config, service } from '../decisions/fixtures.ts';

/**
 * A Service without a class changes its provider because HeraldConfig changes, and the controller dies at each point in turn where it
 * writes to AWS or to the API server. The next controller finds a strict fake of AWS, and the objects.
 */
const kinds: Readonly<Record<string, Service>> = {
  'an NLB': awsMember('nlb', { name: 'web', ports: ['http:80/TCP@30080'], annotations: { type: 'nlb' } }).service,
  'a Classic ELB': service({ name: 'web', ports: ['http:80/TCP@30080'] }),
};

async function run(subject: Service, toAws: boolean, diesAt: number): Promise<{ readonly died: boolean; readonly problems: string[] }> {
  const cluster = new ControllerFixture(subject, config({ defaultClass: toAws }));
  await cluster.start();
  await cluster.run(400);
  const [before = ''] = cluster.ingress('default/web');
  cluster.steps = 0;
  cluster.diesAt = diesAt;
  cluster.source.put(config({ defaultClass: !toAws }));
  const problems: string[] = [];
  const look = (): void => {
    const { world } = cluster.cloud;
    const [now] = cluster.ingress('default/web');
    if (now === undefined) problems.push('clients have nowhere to go');
    // The address that clients were given exists.
    if (now === 'k8s' && world.loadBalancers.size + world.classic.size === 0)
      problems.push('clients are sent to a load balancer that is gone');
  };
  for (let second = 0; second < 400 && !cluster.hasDied; second += 10) {
    await cluster.run(10);
    look();
  }
  const died = cluster.hasDied;
  cluster.diesAt = undefined;
  await cluster.start();
  for (let second = 0; second < 600; second += 10) {
    await cluster.run(10);
    look();
  }
  const { world } = cluster.cloud;
  const left = [world.loadBalancers.size + world.classic.size, world.targetGroups.size > 0 ? 1 : 0];
  const [now = ''] = cluster.ingress('default/web');
  const isNlb = subject.metadata.annotations['service.beta.kubernetes.io/aws-load-balancer-type'] === 'nlb';
  const [wanted, finalizers] = toAws ? [[1, isNlb ? 1 : 0], 'herald.dev/aws'] : [[0, 0], ''];
  if (now === before || now === '') problems.push(`has "${now}" after "${before}"`);
  if (left.join() !== wanted.join()) problems.push(`AWS has ${left.join()}`);
  if (cluster.service('default/web')?.metadata.finalizers?.join() !== finalizers) problems.push('finalizer');
  // The released address can be assigned to another Service.
  const other = cluster.apply(service({ name: 'other', loadBalancerClass: 'herald.dev/herald', requested: ['192.0.2.1'] }));
  await cluster.run(10);
  if (cluster.ingress(other).join() !== (toAws ? '192.0.2.1' : '')) problems.push(`another Service has "${cluster.ingress(other).join()}"`);
  cluster.kill();
  return { died, problems };
}

test.each([
  ['an NLB', false],
  ['an NLB', true],
  ['a Classic ELB', false],
  ['a Classic ELB', true],
] as const)(
  '%s (to AWS: %s): a controller that dies anywhere leaves no resources and no unreachable clients',
  { timeout: 300_000 },
  async (kind, toAws) => {
    const subject = kinds[kind];
    expect(subject).toBeDefined();
    if (subject === undefined) return;
    const found: string[] = [];
    let runs = 0;
    // Dying after one step equals dying before the next.
    for (let diesAt = 1; ; diesAt += 2) {
      const { died, problems } = await run(subject, toAws, diesAt);
      found.push(...new Set(problems.map((problem) => `dies at ${diesAt}: ${problem}`)));
      runs++;
      if (!died || found.length > 20) break;
    }
    expect(found).toEqual([]);
    expect(runs).toBeGreaterThan(4);
  },
);
