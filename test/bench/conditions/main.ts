import { parseArgs } from 'node:util';
import { judgeService } from '../../../src/controller/services/service-conditions.ts';
import type { NodeState } from '../../../src/model/objects/node-state.ts';
import type { Service } from '../../../src/model/objects/service.ts';
import { Store } from '../../../src/model/store/store.ts';
import { cluster, metadata } from '../../unit/decisions/fixtures.ts';
import { median } from '../runner/statistics.ts';
import { conditionLines, conditions } from '../runner/conditions.ts';

const help = `npm run bench:conditions -- [--json] [--nodes N,...]

  Measures how long the controller takes to decide on the conditions of one Service, in clusters of N nodes (default 100,1000,5000). Before
  each decision one node reports, so that what is kept between two decisions has to be read again.`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    nodes: { type: 'string', default: '100,1000,5000' },
  },
});
if (values.help) {
  console.log(help);
  process.exit();
}

const key = 'shop/web';
const rounds = 51;
const now = Date.now();
const nodeName = (index: number): string => `node-${String(index).padStart(5, '0')}`;

/** Services, and whether agents report. */
const cases = {
  'announced, policy Cluster': { endpoints: 20, policy: 'Cluster', reports: true },
  'announced, policy Local': { endpoints: 20, policy: 'Local', reports: true },
  'without an endpoint': { endpoints: 0, policy: 'Cluster', reports: true },
  'announced by no node: no agent reports yet': { endpoints: 20, policy: 'Cluster', reports: false },
} as const;

interface Figures {
  readonly nodes: number;
  readonly service: string;
  /** Milliseconds. */
  readonly minimum: number;
  readonly median: number;
}

function report(index: number, round: number): NodeState {
  const sessions = ['tor1', 'tor2'].map((peer) => ({
    peer,
    address: '10.0.0.254',
    state: 'Established' as const,
    since: '2026-01-01T00:00:00Z',
    localASN: 64512,
    peerASN: 64513,
    prefixesSent: round,
  }));
  const updated = new Date(now).toISOString();
  return { kind: 'NodeState', metadata: metadata(nodeName(index)), updated, isAlive: true, consumed: {}, differing: [], sessions };
}

/** The last nodes by name have the endpoints, ten in each family. */
function build(nodes: number, { endpoints, policy, reports }: (typeof cases)[keyof typeof cases]): { store: Store; service: Service } {
  const at = (index: number): string => nodeName(nodes - 1 - index);
  const ports = ['http:80/TCP', 'https:443/TCP'];
  const half = Array.from({ length: endpoints / 2 }, (_, index) => index);
  const objects = cluster({
    services: [
      {
        name: key,
        clusterIPs: ['10.96.0.1', 'fd00:96::1'],
        assigned: ['192.0.2.1', '2001:db8::1'],
        ports,
        externalTrafficPolicy: policy,
      },
    ],
    slices: [
      { service: key, ports, endpoints: half.map((index) => `10.244.${index}.1@${at(index)}`) },
      { service: key, name: 'web-6', family: 6, ports, endpoints: half.map((index) => `fd00:1::${index + 1}@${at(index)}`) },
    ],
    pools: [{ name: 'main', addresses: ['192.0.2.0/28', '2001:db8::/120'] }],
    peers: ['tor1', 'tor2'].map((name, index) => ({ name, peerAddress: `10.0.0.${253 + index}`, dualStackAddressFamily: true })),
    advertisements: [{ name: 'all' }],
    nodes: Array.from({ length: nodes }, (_, index) => ({
      name: nodeName(index),
      labels: { 'kubernetes.io/hostname': nodeName(index), 'topology.kubernetes.io/zone': `zone-${index % 3}` },
    })),
  });
  const store = new Store();
  const { services, pools, peers, advertisements } = objects;
  for (const kind of [services, objects.nodes, pools, peers, advertisements]) for (const object of kind.values()) store.upsert(object);
  for (const slice of objects.endpointSlices(key)) store.upsert(slice);
  if (reports) for (let index = 0; index < nodes; index++) store.upsert(report(index, 0));
  const service = store.services.get(key);
  if (service === undefined) throw new RangeError('the cluster has no such Service');
  return { store, service };
}

function measure(nodes: number, name: keyof typeof cases): Figures {
  const { store, service } = build(nodes, cases[name]);
  const times: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    if (cases[name].reports) store.upsert(report(round % nodes, round));
    const started = performance.now();
    judgeService(store, service, { reason: undefined, details: [] }, now + round);
    times.push(performance.now() - started);
  }
  return { nodes, service: name, minimum: Math.min(...times), median: median(times) };
}

const names = Object.keys(cases) as (keyof typeof cases)[];
const figures = values.nodes.split(',').flatMap((nodes) => names.map((name) => measure(Number(nodes), name)));
if (values.json) console.log(JSON.stringify({ conditions: conditions({}), figures }));
else {
  console.log(conditionLines(conditions({})));
  console.log('\n| nodes | the Service is | minimum | median |\n|---:|---|---:|---:|');
  for (const { nodes, service, minimum, median } of figures)
    console.log(`| ${nodes} | ${service} | ${minimum.toFixed(2)} ms | ${median.toFixed(2)} ms |`);
}
