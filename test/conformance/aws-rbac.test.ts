import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { credentials, region, type Account } from '../../providers/aws/test/moto/account.ts';
import { Moto } from '../../providers/aws/test/moto/moto.ts';
import { makeAccount } from '../../providers/aws/test/moto/moto-account.ts';
import { LabProcess } from '../lab/lab-process.ts';
import { until } from '../lab/until.ts';
import type { AuditedCall } from './audit.ts';
import { borrowCluster } from './borrowed-cluster.ts';
import type { KubernetesCluster } from './cluster.ts';
import { killedWithParent } from './foreground.ts';
import { apply, definition, shipped } from './manifests.ts';

/** Compares the Roles of manifests/base and examples/aws with the requests of a controller that serves Services by AWS. */
const example = parseAllDocuments(readFileSync(join(import.meta.dirname, '../../examples/aws/10-controller.yaml'), 'utf8')).map(
  (document) => document.toJS() as { readonly kind: string; readonly rules?: readonly Readonly<Record<string, readonly string[]>>[] },
);
const user = 'system:serviceaccount:herald-system:herald-controller';
const path = '/api/v1/namespaces/default/services/web';

let cluster: KubernetesCluster;
let moto: Moto;
let account: Account;
let controller: LabProcess;

beforeAll(async () => {
  [cluster, moto] = await Promise.all([borrowCluster(), Moto.start()]);
  account = await makeAccount(moto);
  for (const file of ['namespace', 'controller-rbac']) await apply(cluster, ...shipped(`base/${file}.yaml`));
  await apply(cluster, definition('IPAddressPool'), ...example);
  for (const [index, { instance, zone }] of account.nodes.entries())
    await apply(cluster, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: `node-${index}` },
      spec: { providerID: `aws:///${zone}/${instance}` },
    });
  const kubeconfig = join(cluster.directory, 'controller.kubeconfig');
  const token = await cluster.serviceAccountToken('herald-system', 'herald-controller');
  await writeFile(kubeconfig, cluster.kubeconfig(token), { mode: 0o600 });
  const argv = [join(import.meta.dirname, '../../bin/herald'), 'controller', '--leader-elect=false', '--kubeconfig', kubeconfig];
  const awsFlags = ['--aws-cluster-name', 'test', '--aws-region', region, '--aws-vpc-id', account.vpcId];
  controller = new LabProcess(killedWithParent([...argv, ...awsFlags]), {
    logFile: join(cluster.directory, 'controller.log'),
    record: () => undefined,
    env: {
      AWS_ENDPOINT_URL: moto.endpoint,
      AWS_ACCESS_KEY_ID: credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
      AWS_EC2_METADATA_DISABLED: 'true',
    },
  });
  await controller.waitForLine(/controller started/);
});

afterAll(async () => {
  controller?.kill('SIGKILL');
  await controller?.exited;
  await moto?.stop();
  await cluster?.stop();
});

interface Service {
  readonly metadata: { readonly finalizers?: readonly string[]; readonly annotations?: Readonly<Record<string, string>> };
  readonly status: { readonly loadBalancer: { readonly ingress?: readonly { readonly hostname?: string }[] } };
}

test('a Service gets its finalizer, load balancer and hostname, and can be deleted', async () => {
  const spec = { type: 'LoadBalancer', loadBalancerClass: 'herald.dev/aws', ports: [{ port: 80 }] };
  await apply(cluster, { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', namespace: 'default' }, spec });
  await until('it has a host name', async (note) => {
    const { metadata, status } = note((await cluster.request({ path })) as Service);
    return metadata.finalizers?.includes('herald.dev/aws') === true && (status.loadBalancer.ingress?.[0]?.hostname ?? '') !== '';
  });
  await cluster.request({ method: 'DELETE', path });
  await until('it is gone', async () => (await cluster.attempt({ path })).status === 404);
});

test('a Service with pods as targets refuses an address that its Pod does not have', async () => {
  const metadata = { name: 'pods', namespace: 'default' };
  const annotations = { 'service.beta.kubernetes.io/aws-load-balancer-nlb-target-type': 'ip' };
  const spec = { type: 'LoadBalancer', loadBalancerClass: 'herald.dev/aws', ports: [{ name: 'pg', port: 5432 }] };
  await apply(
    cluster,
    { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'db', namespace: 'default' }, spec: { containers: [{ name: 'db', image: 'db' }] } },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 'pods-1', namespace: 'default', labels: { 'kubernetes.io/service-name': 'pods' } },
      addressType: 'IPv4',
      ports: [{ name: 'pg', port: 5432, protocol: 'TCP' }],
      endpoints: [{ addresses: ['10.0.1.77'], targetRef: { kind: 'Pod', namespace: 'default', name: 'db' } }],
    },
    { apiVersion: 'v1', kind: 'Service', metadata: { ...metadata, annotations }, spec },
  );
  await until('an Event names the address', async (note) => {
    const { items } = note((await cluster.request({ path: '/apis/events.k8s.io/v1/namespaces/default/events' })) as Events);
    return items.some(({ reason, note: text }) => reason === 'AwsTargetRefused' && text.includes('Pod db does not have this address'));
  });
  await cluster.request({ method: 'DELETE', path: '/api/v1/namespaces/default/services/pods' });
  await until('it is gone', async () => (await cluster.attempt({ path: '/api/v1/namespaces/default/services/pods' })).status === 404);
});

test('the readiness gate of a Pod opens when the Pod is healthy behind the load balancer', async () => {
  const gate = 'target-health.elbv2.k8s.aws/gated';
  const annotations = { 'service.beta.kubernetes.io/aws-load-balancer-nlb-target-type': 'ip' };
  const spec = { type: 'LoadBalancer', loadBalancerClass: 'herald.dev/aws', ports: [{ name: 'http', port: 80 }] };
  const address = '10.0.1.88';
  const containers = [{ name: 'web', image: 'web' }];
  await apply(cluster, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'gated-0', namespace: 'default' },
    spec: { containers, readinessGates: [{ conditionType: gate }] },
  });
  const status = { podIP: address, podIPs: [{ ip: address }], phase: 'Running', containerStatuses: [readyContainer] };
  const pod = '/api/v1/namespaces/default/pods/gated-0';
  await cluster.request({
    method: 'PATCH',
    path: `${pod}/status`,
    contentType: 'application/strategic-merge-patch+json',
    body: { status },
  });
  await apply(
    cluster,
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 'gated-1', namespace: 'default', labels: { 'kubernetes.io/service-name': 'gated' } },
      addressType: 'IPv4',
      ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
      endpoints: [
        { addresses: [address], conditions: { ready: false }, targetRef: { kind: 'Pod', namespace: 'default', name: 'gated-0' } },
      ],
    },
    { apiVersion: 'v1', kind: 'Service', metadata: { name: 'gated', namespace: 'default', annotations }, spec },
  );
  await until('its condition is True', async (note) => {
    const { status } = note((await cluster.request({ path: pod })) as GatedPod);
    return status.conditions?.some(({ type, status }) => type === gate && status === 'True') === true;
  });
  await cluster.request({ method: 'DELETE', path: '/api/v1/namespaces/default/services/gated' });
  await until('it is gone', async () => (await cluster.attempt({ path: '/api/v1/namespaces/default/services/gated' })).status === 404);
});

const readyContainer = { name: 'web', ready: true, restartCount: 0, image: 'web', imageID: '', state: { running: {} } };

interface GatedPod {
  readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

interface Events {
  readonly items: readonly { readonly reason: string; readonly note: string }[];
}

const calls = (): readonly AuditedCall[] => cluster.auditedCalls().filter((one) => one.user === user);

test('no request is refused', () => {
  expect(calls().length).toBeGreaterThan(10);
  // Requests for kinds that are not installed here get 404.
  expect(calls().filter(({ code }) => code === 401 || code === 403)).toEqual([]);
});

test('the controller needs exactly the rights that the example adds to manifests/base', () => {
  const text = ({ verb, group, resource }: Pick<AuditedCall, 'verb' | 'group' | 'resource'>): string => `${verb} ${group}/${resource}`;
  const rights = (objects: typeof example): string[] =>
    objects.flatMap(({ rules = [] }) =>
      rules.flatMap(({ apiGroups = [], resources = [], verbs = [] }) =>
        apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => text({ verb, group, resource })))),
      ),
    );
  const base = new Set(rights(shipped('base/controller-rbac.yaml') as unknown as typeof example));
  const used = new Set(calls().map(text));
  expect(rights(example).filter((right) => !used.has(right) || base.has(right))).toEqual([]);
  expect(rights(example)).toEqual(['patch /services', 'get /pods', 'patch /pods/status']);
});
