import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../lab/until.ts';
import { ServiceCluster } from './services.ts';

/** Services of a controller that served AWS, and now a controller with the shipped Roles that does not. */
const mergePatch = 'application/merge-patch+json';
let services: ServiceCluster;

beforeAll(async () => {
  services = await ServiceCluster.start(['192.0.2.0/28']);
  await services.startController();
});
afterAll(async () => services?.stop());

async function create(name: string): Promise<void> {
  const metadata = { name, namespace: 'default', finalizers: ['herald.dev/aws'] };
  const spec = { type: 'LoadBalancer', loadBalancerClass: 'herald.dev/aws', ports: [{ port: 80 }] };
  await services.cluster.request({ method: 'POST', path: services.path, body: { apiVersion: 'v1', kind: 'Service', metadata, spec } });
}

const patch = (name: string, body: object): Promise<unknown> =>
  services.cluster.request({ method: 'PATCH', path: `${services.path}/${name}`, contentType: mergePatch, body });

const says = (name: string, condition: string): Promise<unknown> =>
  until(`${name} is ${condition}`, async (note) => note(await services.conditionOf(name)) === condition);

test('a deleted Service says in a condition and an Event why it stays, until its finalizer is removed', async () => {
  await create('web');
  await says('web', 'False AwsSwitchedOff');
  await services.cluster.request({ method: 'DELETE', path: `${services.path}/web` });
  await until('an Event has the reason', async (note) => {
    const { items } = (await services.cluster.request({ path: '/apis/events.k8s.io/v1/namespaces/default/events' })) as {
      readonly items: readonly { readonly reason: string; readonly note: string }[];
    };
    const found = note(items.find(({ reason }) => reason === 'AwsSwitchedOff'));
    return found?.note.includes('Start the controller with the --aws-cluster-name that it had') === true;
  });
  expect(await services.conditionOf('web')).toBe('False AwsSwitchedOff');
  await patch('web', { metadata: { finalizers: null } });
  await until('it is gone', async (note) => note((await services.cluster.attempt({ path: `${services.path}/web` })).status) === 404);
});

test('a Service that is no longer a LoadBalancer says so too, and loses the condition with its finalizer', async () => {
  await create('former');
  await says('former', 'False AwsSwitchedOff');
  await patch('former', { spec: { type: 'ClusterIP', loadBalancerClass: null } });
  await until('its condition is written again', async (note) => {
    const [condition] = note((await services.get('former')).status.conditions) ?? [];
    return condition?.reason === 'AwsSwitchedOff';
  });
  await patch('former', { metadata: { finalizers: null } });
  await says('former', 'absent');
});
