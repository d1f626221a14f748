import { afterEach, beforeEach, expect, test } from 'vitest';
import type { CommandContext } from '../../../../src/cli/context/command-context.ts';
import { explainCommand } from '../../../../src/cli/commands/explain-command.ts';
import { statusCommand } from '../../../../src/cli/commands/tables/status-command.ts';
import type { Provider } from '../../../../src/controller/provider.ts';
import type { Preview } from '../../../../src/controller/provider-parts.ts';
import { reason } from '../../../../src/model/reasons.ts';
import { FabricCluster } from '../fabric-cluster.ts';
import type { Outcome } from '../program.ts';

let cluster: FabricCluster;
beforeEach(async () => {
  cluster = await FabricCluster.start();
  cluster.edit('web', (service) => {
    const spec = { ...(service['spec'] as object), loadBalancerClass: 'herald.dev/aws' };
    const condition = {
      type: 'herald.dev/AddressAssigned',
      status: 'False',
      reason: 'AwsNoSubnets',
      message: 'No subnet was found for the load balancer',
      lastTransitionTime: new Date(Date.now() - 600_000).toISOString(),
    };
    return { spec, status: { loadBalancer: {}, conditions: [condition] } };
  });
});
afterEach(() => cluster.stop());

const explain = (words: readonly string[], changes: Partial<CommandContext> = {}): Promise<Outcome> =>
  cluster.herald(explainCommand, ['service', 'shop/web', ...words], changes);

function event(minutesAgo: number, fields: object): void {
  const at = new Date(Date.now() - minutesAgo * 60_000).toISOString();
  const regarding = { kind: 'Service', namespace: 'shop', name: 'web' };
  cluster.server.put(
    '/apis/events.k8s.io/v1/events',
    `web.${minutesAgo}`,
    { regarding, type: 'Warning', eventTime: at, ...fields },
    'shop',
  );
}

const preview: Preview = {
  observed: ['nothing'],
  desired: ['NLB k8s-shop-web, internal, ipv4, in subnet-1'],
  actions: [{ id: 'load balancer', operation: 'elbv2:CreateLoadBalancer', reason: 'there is none', input: {} }],
  waits: ['the load balancer to become active'],
  reasons: [reason('AwsNoTargets', { of: 'node', all: false })],
};

/** The AWS provider with the parts that a read-only command uses. */
const previewing = (answer: () => Promise<Preview>): Partial<CommandContext> => ({
  providers: async () => [{ name: 'aws', preview: answer } as unknown as Provider],
});

test('explain without AWS credentials shows the provider, why, the records, and how to see more', async () => {
  event(30, { reason: 'AwsCallFailed', note: 'older' });
  event(10, {
    reason: 'AwsNoSubnets',
    note: 'no subnet has the tag',
    series: { count: 12, lastObservedTime: new Date(Date.now() - 305_000).toISOString() },
  });
  const { code, stdout } = await explain([]);
  expect(code).toBe(0);
  expect(stdout).toContain('Address    none yet\nProvider   aws: spec.loadBalancerClass is herald.dev/aws\n');
  expect(stdout).toContain("resources in AWS were not read: use --aws-cluster-name with the controller's value");
  expect(stdout).toContain(
    'Condition  herald.dev/AddressAssigned is False for 10 min (AwsNoSubnets): No subnet was found for the load balancer\nEvent      AwsNoSubnets 12 times, last 5 min ago: no subnet has the tag\nEvent      AwsCallFailed, last 30 min ago: older\n',
  );
  // The nodes announce its external IPs, whichever provider gives it a load balancer.
  expect(stdout).toContain('192.0.2.10 (ExternalIP) would be announced to tor1-v4, tor2-v4');
  expect(stdout).not.toMatch(/announces nothing|\(ClusterIP\)/);
  expect(stdout).toContain(
    'Clients\n  no client outside the cluster can connect: the status of the Service has no address of a load balancer yet\n',
  );
  expect(cluster.server.paths).toContain('/apis/events.k8s.io/v1/namespaces/shop/events');
});

test('explain with AWS credentials shows observed and desired resources, the difference and problems', async () => {
  const { code, stdout } = await explain(
    ['--aws-cluster-name', 'production'],
    previewing(async () => preview),
  );
  expect(code).toBe(0);
  expect(stdout).toContain(
    [
      '  observed',
      '    nothing',
      '  desired',
      '    NLB k8s-shop-web, internal, ipv4, in subnet-1',
      '  difference',
      '    elbv2:CreateLoadBalancer  load balancer  (there is none)',
      '    then waits for the load balancer to become active',
      '',
    ].join('\n'),
  );
  expect(stdout).toMatch(/\n {2}! .*\n/);
});

const key = 'service.beta.kubernetes.io/aws-load-balancer-target-node-labels';
const untargeted = reason('AwsNoTargets', { of: 'node', all: true, labels: 'role=edgee', key });
const notServed =
  'Not served: the load balancer has no target: no Node has role=edgee of annotation service.beta.kubernetes.io/aws-load-balancer-target-node-labels. Correct the annotation, or label Nodes: kubectl label node NAME role=edgee.';

/** Gives the Service a load balancer, and the condition that the controller writes. */
function assign(because: string, message: string, status: 'True' | 'False' = 'True'): void {
  cluster.edit('web', (service) => {
    const condition = {
      type: 'herald.dev/AddressAssigned',
      status,
      reason: because,
      message,
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    const loadBalancer = { ingress: [{ hostname: 'web.elb.amazonaws.com' }] };
    const spec = { ...(service['spec'] as object), loadBalancerClass: 'herald.dev/aws' };
    return { spec, status: { loadBalancer, conditions: [condition] } };
  });
}

test('explain says that a load balancer without targets serves nobody, from the preview or else from the condition', async () => {
  assign('Assigned', 'The Service has what it asks for');
  const found = (reasons: Preview['reasons']): Promise<Outcome> =>
    explain(
      ['--aws-cluster-name', 'production'],
      previewing(async () => ({ ...preview, reasons })),
    );
  const first = ({ stdout }: Outcome): string => stdout.split('\n')[0] ?? '';
  expect(first(await found([untargeted]))).toBe(notServed);
  // Other ports have targets.
  expect(first(await found([reason('AwsNoTargets', { of: 'pod', all: false })]))).toContain(
    'Announced, not checked: provider aws serves it',
  );
  expect(first(await explain([]))).toContain('Announced, not checked: provider aws serves it');
  assign('AwsNoTargets', notServed);
  expect(first(await explain([]))).toBe(notServed);
  const { stdout } = await cluster.herald(statusCommand, ['--problems']);
  expect(stdout).toMatch(/^Service\/shop\/web +AwsNoTargets +Not served: the load balancer has no target/m);
  // AWS was asked now, and has targets.
  expect(first(await found([]))).toContain('Announced, not checked: provider aws serves it');
});

test('explain begins with what the provider has seen of the targets, also when something that the Service asks for is missing', async () => {
  const seen = { outcome: 'served', line: 'Served: 2 of 3 targets of port 80/TCP are healthy (AWS, 2026-01-01T00:00:00Z).' } as const;
  const first = async (given: Partial<Preview>): Promise<string> =>
    (
      await explain(
        ['--aws-cluster-name', 'production'],
        previewing(async () => ({ ...preview, reasons: [], ...given })),
      )
    ).stdout.split('\n')[0] ?? '';
  assign('Assigned', 'The Service has what it asks for');
  expect(await first({ seen })).toBe(seen.line);
  expect(await first({ seen, reasons: [untargeted] })).toBe(notServed);
  assign('AwsZoneRefused', 'Oh', 'False');
  expect(await first({ seen })).toBe(`${seen.line} Oh`);
});

test('explain reports missing AWS credentials with the fix, and everything else', async () => {
  const failed = reason('AwsCallFailed', {
    operation: 'ec2:DescribeInstances',
    awsCode: 'NoCredentials',
    message: 'no credentials',
    requestId: '',
  });
  const nothing = { observed: [], desired: [], actions: [], waits: [], reasons: [failed], failed };
  const { code, stdout } = await explain(
    ['--aws-cluster-name', 'production'],
    previewing(async () => nothing),
  );
  expect(code).toBe(0);
  expect(stdout).toMatch(/\n {2}! .*no credentials.*\n {4}fix: .*\n {2}resources in AWS are unknown\n/);
  expect(stdout).toContain('Condition  herald.dev/AddressAssigned is False');
});

test('explain shows a Service of the pools, and a Service that no provider claims', async () => {
  cluster.edit('ledger', (service) => ({ spec: { ...(service['spec'] as object), loadBalancerClass: 'example.com/other' } }));
  const other = await cluster.herald(explainCommand, ['service', 'shop/ledger']);
  expect(other.stdout).toContain('Provider   none: spec.loadBalancerClass is "example.com/other"');
  expect(other.stdout.match(/example\.com\/other/g)).toHaveLength(2);
  expect(other.stdout).toContain('another program serves the Service: its behavior is unknown');
  cluster.edit('ledger', () => ({}));
  const pools = await cluster.herald(explainCommand, ['service', 'shop/ledger']);
  expect(pools.stdout).toContain(
    'Provider   bare-metal: it has no loadBalancerClass, and defaultClass of HeraldConfig gives such Services to the pools',
  );
});

test('explain names both fixes for a Service without a class that no controller serves', async () => {
  cluster.edit('ledger', () => ({ status: { loadBalancer: {} } }));
  cluster.put({ apiVersion: 'herald.dev/v1alpha1', kind: 'HeraldConfig', metadata: { name: 'default' }, spec: { defaultClass: false } });
  const { stdout } = await cluster.herald(explainCommand, ['service', 'shop/ledger']);
  expect(stdout).toContain('Provider   none: spec.loadBalancerClass is not set');
  expect(stdout).toMatch(
    /fix: set spec\.loadBalancerClass: .* \(the field is immutable.*, or set defaultClass: true in HeraldConfig\/default/,
  );
  expect(stdout).toContain('no client outside the cluster can connect: no controller has given the Service an address');
});
