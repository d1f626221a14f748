import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { explainCommand } from '../../../../../src/cli/commands/explain-command.ts';
import { openConsoleFacts } from '../../../../../src/cli/commands/ui/console-facts.ts';
import type { ServiceOutcome } from '../../../../../src/console/contract.ts';
import { fabricView } from '../../../../../src/console/views/fabric.ts';
import { serviceView } from '../../../../../src/console/views/service.ts';
import { servicesView } from '../../../../../src/console/views/services.ts';
import { heraldApiVersion } from '../../../../../src/model/kinds.ts';
import type { ServiceKey } from '../../../../../src/model/objects/metadata.ts';
import { version } from '../../../../../src/model/objects/version.ts';
import { FabricCluster, listPath, type Manifest } from '../../fabric-cluster.ts';
import { collecting, inProcess } from '../../in-process.ts';
import { root } from '../../program.ts';

let cluster: FabricCluster;
beforeEach(async () => {
  cluster = await FabricCluster.start();
});
afterEach(() => cluster.stop());

const key = 'shop/one' satisfies ServiceKey;
const peers = ['tor1-v4', 'tor1-v6', 'tor2-v4', 'tor2-v6'];
const nodes = ['node1', 'node2', 'node3'];

/** A Service with one address, and its endpoint on node1. */
function put(spec: object = {}, ingress: readonly object[] = [{ ip: '198.51.100.20' }], more: Partial<Manifest> = {}): void {
  const ports = [{ name: 'http', protocol: 'TCP', port: 80, targetPort: 8080, nodePort: 30081 }];
  cluster.put({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: 'shop', name: 'one', ...(more['metadata'] as object | undefined) },
    spec: { type: 'LoadBalancer', clusterIP: '10.96.0.31', clusterIPs: ['10.96.0.31'], ipFamilies: ['IPv4'], ports, ...spec },
    status: { loadBalancer: { ingress }, ...(more['status'] as object | undefined) },
  });
  putEndpoints([{ addresses: ['10.244.1.31'], nodeName: 'node1', conditions: { ready: true } }]);
}

function putEndpoints(endpoints: readonly object[]): void {
  cluster.put({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace: 'shop', name: 'one-v4', labels: { 'kubernetes.io/service-name': 'one' } } as Manifest['metadata'],
    addressType: 'IPv4',
    ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
    endpoints,
  });
}

/** Each node reports that its sessions are up, without those of `down`. */
function report(more: object = {}, down: readonly string[] = []): void {
  const since = new Date(Date.now() - 60_000).toISOString();
  for (const name of nodes) {
    const sessions = peers.map((peer) => ({
      peer,
      address: peer.startsWith('tor1') ? '10.1.0.1' : '10.2.0.1',
      state: down.includes(`${name} ${peer}`) ? 'Active' : 'Established',
      since,
      localASN: 64_512,
      peerASN: peer.startsWith('tor1') ? 65_101 : 65_102,
      prefixesSent: 1,
    }));
    cluster.put({
      apiVersion: heraldApiVersion,
      kind: 'NodeState',
      metadata: { name },
      status: { updated: new Date().toISOString(), version, sessions, checks: { mode: 'passive', answered: [] }, ...more },
    });
  }
}

const answered = { checks: { mode: 'passive', answered: ['198.51.100.20 TCP 80'] } };
const failing = (areAll: boolean): object => {
  const reason = { code: 'EndpointRefuses', details: { node: 'node1', endpoints: '10.244.1.31:8080' } };
  return { checks: { mode: 'passive', answered: [], failing: [{ service: key, family: 'IPv4', port: '80/TCP', areAll, reason }] } };
};

const forbid = (...paths: readonly string[]): void => paths.forEach((path) => cluster.server.forbidden.add(path));

/** How list, fabric, page and command call the Service. */
async function told() {
  const { context } = collecting({ variables: { KUBECONFIG: cluster.kubeconfig } });
  const facts = await openConsoleFacts(context, { ask: false });
  try {
    const picture = await facts.read();
    const explained = await facts.explain(key);
    if (explained === undefined) throw new Error('the Service was not read');
    const { rows, lines } = servicesView(picture);
    const row = rows.find(({ name }) => name === 'one');
    const page = serviceView(explained);
    const { stdout } = await inProcess(explainCommand, ['service', key, '--no-ask'], { variables: { KUBECONFIG: cluster.kubeconfig } });
    const problem = fabricView(picture).problems.find(({ object }) => object === `Service/${key}`);
    return { row, line: row?.line === undefined ? undefined : lines[row.line], page, problem, command: stdout };
  } finally {
    await facts.close();
  }
}

const cases: readonly (readonly [string, ServiceOutcome, RegExp, () => void])[] = [
  ['connections were answered', 'served', /^Served: /, () => (put(), report(answered))],
  ['no connection was seen', 'announced', /^Announced, not checked: /, () => (put(), report())],
  ['a session of a node is down', 'limited', /^Announced, but not /, () => (put(), report({}, ['node3 tor1-v4']))],
  [
    'a session of a node is down, and connections were answered',
    'limited',
    /^Announced, but not /,
    () => (put(), report(answered, ['node3 tor1-v4'])),
  ],
  ['some connections are refused', 'partly', /^Not fully served: /, () => (put(), report(failing(false)))],
  ['every connection is refused', 'notServed', /^Not served: /, () => (put(), report(failing(true)))],
  ['there is no endpoint', 'notServed', /^Not served: /, () => (put(), putEndpoints([]), report())],
  [
    'every session is down',
    'notServed',
    /^Not served: /,
    () => (
      put(),
      report(
        {},
        nodes.flatMap((n) => peers.map((p) => `${n} ${p}`)),
      )
    ),
  ],
  ['the controller gave no address yet', 'notServed', /^Not served: /, () => (put({}, []), report())],
  [
    'the requested pool does not exist',
    'notServed',
    /^Not served: /,
    () => (
      put({}, [], {
        metadata: { name: 'one', namespace: 'shop', annotations: { 'herald.dev/address-pool': 'none' } },
      } as Partial<Manifest>),
      report()
    ),
  ],
  ['no agent reports', 'unknown', /^Not known whether it is served: /, () => put()],
  [
    'no node exists',
    'unknown',
    /^Not known whether it is served: /,
    () => (put(), nodes.forEach((name) => cluster.server.remove('/api/v1/nodes', name))),
  ],
  [
    'another class serves it',
    'other',
    /^Served by another program, or not at all: /,
    () => (put({ loadBalancerClass: 'acme.example/lb' }), report()),
  ],
  [
    'another class gives it no address',
    'other',
    /^Not served by Herald: /,
    () => (put({ loadBalancerClass: 'acme.example/lb' }, []), report()),
  ],
  [
    'a load balancer of AWS has it',
    'unknown',
    /^Announced, not checked: provider aws serves it/,
    () => (put({ loadBalancerClass: 'service.k8s.aws/nlb' }, [{ hostname: 'lb.example' }]), report()),
  ],
  [
    'a load balancer of AWS has no endpoint',
    'notServed',
    /^Not served: /,
    () => (put({ loadBalancerClass: 'service.k8s.aws/nlb' }, [{ hostname: 'lb.example' }]), putEndpoints([]), report()),
  ],
  ['AWS gave no address yet', 'notServed', /^Not served: /, () => (put({ loadBalancerClass: 'service.k8s.aws/nlb' }, []), report())],
  [
    'AWS refused a change of a load balancer that exists',
    'unknown',
    /^Its load balancer exists, but not as it asks: /,
    () => (
      put({ loadBalancerClass: 'service.k8s.aws/nlb' }, [{ hostname: 'lb.example' }], {
        status: {
          conditions: [
            { type: 'herald.dev/AddressAssigned', status: 'False', reason: 'AwsAnnotationInvalid', message: 'a value is wrong' },
          ],
        },
      }),
      report()
    ),
  ],
  [
    'the reports may not be read',
    'unknown',
    /^Not known whether it is served: /,
    () => (put(), report(answered), forbid(listPath({ apiVersion: heraldApiVersion, kind: 'NodeState' }))),
  ],
  [
    'the endpoints may not be read',
    'unknown',
    /^Not known whether it is served: /,
    () => (
      put({ externalTrafficPolicy: 'Local' }),
      report(),
      forbid('/apis/discovery.k8s.io/v1/endpointslices', '/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices')
    ),
  ],
];

describe('list, fabric, page and command say the same of a Service', () => {
  test.each(cases)('when %s: %s', async (_, outcome, line, arrange) => {
    arrange();
    const { row, line: listed, page, problem, command } = await told();
    expect(page.verdict.line).toMatch(line);
    expect(command.split('\n')).toContain(page.verdict.line);
    expect([row?.outcome, page.outcome]).toEqual([outcome, outcome]);
    expect(row?.reason).toBe(page.verdict.code ?? page.verdict.doubt);
    if (listed !== undefined) expect(listed).toBe(page.verdict.line);
    else expect(['served', 'announced']).toContain(outcome);
    if (problem !== undefined) expect(problem.outcome).toBe(outcome);
  });
});

test.each(['10-cluster.yaml', '30-web.yaml'])('list and page say the same of manifests without %s', async (without) => {
  const files = ['10-cluster.yaml', '20-herald.yaml', '30-web.yaml', '40-ledger.yaml'].filter((file) => file !== without);
  const facts = await openConsoleFacts(collecting().context, { file: files.map((file) => join(root, 'examples/fabric', file)) });
  const { rows, lines } = servicesView(await facts.read());
  expect(rows.length).toBeGreaterThan(0);
  for (const { namespace, name, outcome, line } of rows) {
    const explained = await facts.explain(`${namespace}/${name}`);
    if (explained === undefined) throw new Error('the Service was not read');
    const { verdict, outcome: onPage } = serviceView(explained);
    expect([outcome, line === undefined ? undefined : lines[line]]).toEqual([
      onPage,
      verdict.code === undefined ? undefined : verdict.line,
    ]);
  }
  await facts.close();
});
