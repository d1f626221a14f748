/**
 * Runs beside the API server, in its network namespace: makes the objects of the run, plays the kubelets, and changes endpoints. The
 * benchmark calls its methods.
 */
import process from 'node:process';
import { KubeClient } from '../../../src/kube/client/client.ts';
import { listPages } from '../../../src/kube/reflector/list-pages.ts';
import { systemClock } from '../../../src/system/clock.ts';
import type { Credentials } from '../../conformance/cluster.ts';
import { answerCalls } from '../runner/caller.ts';
import { churnedAddress, timeNow } from './addresses.ts';
import { putAll } from './etcd.ts';
import { Load } from './load.ts';
import {
  agentPod,
  agentPodStatus,
  clusterAddress,
  copies,
  endpointSlice,
  laterService,
  laterSlice,
  namespace,
  node,
  nodeStatus,
  service,
  templated,
  type StoredObject,
} from './objects.ts';
import { endpointsOfService, sizeOf } from './size.ts';

const { server, certificateAuthority: ca, token } = JSON.parse(process.argv[2] ?? '') as Credentials;
const etcdPort = 2379;
const slices = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';
const services = '/api/v1/namespaces/default/services';
/** Each kubelet reports the status of its node this often when nothing else has changed (nodeStatusReportFrequency). */
const kubeletMilliseconds = 300_000;

const credentials = async () => ({ ca, authorization: `Bearer ${token}` });
const client = new KubeClient(
  { server: new URL(server), credentials, expired: () => undefined },
  { clock: systemClock, userAgent: 'load' },
);
const changed = new Map<number, Map<number, number>>();
let sequence = 0;
let size = sizeOf(0);
let load: Load | undefined;
let kubelets: NodeJS.Timeout | undefined;

/** A change of endpoints, or a Service that appeared. */
export interface Change {
  readonly name: string;
  readonly at: number;
}

export interface LoadFigures {
  readonly seconds: number;
  readonly changes: readonly Change[];
  readonly services: readonly Change[];
  readonly failed: number;
}

answerCalls({ populate, startKubelets, startLoad, stopLoad, create, ingress, get: (path: string) => client.get(path), text });

async function populate(nodes: number): Promise<number> {
  size = sizeOf(nodes);
  const write = async (path: string, body: object): Promise<StoredObject> =>
    (await client.write({ method: 'POST', path, body })) as StoredObject;
  const made: StoredObject[][] = [];
  for (let index = 0; index < templated; index++) {
    await write('/api/v1/nodes', node(index));
    const pod = await write(`/api/v1/namespaces/${namespace}/pods`, agentPod(index));
    await patchStatus(`/api/v1/nodes/node-${index}`, nodeStatus(index, new Date().toISOString()));
    await patchStatus(`/api/v1/namespaces/${namespace}/pods/${pod.metadata.name}`, agentPodStatus);
    const made1 = await write(services, service(index));
    const slice = await write(slices, endpointSlice(index, nodes, new Map(), new Date().toISOString()));
    made.push([
      made1,
      slice,
      (await client.get(`/api/v1/nodes/node-${index}`)) as StoredObject,
      (await client.get(`/api/v1/namespaces/${namespace}/pods/${pod.metadata.name}`)) as StoredObject,
      (await client.get(`/apis/networking.k8s.io/v1/ipaddresses/${clusterAddress(index)}`)) as StoredObject,
    ]);
  }
  const [[loadBalancer, slice, of, pod, ipAddress] = [], [clusterService] = []] = made;
  if (!loadBalancer || !slice || !of || !pod || !ipAddress || !clusterService) throw new Error('a template is missing');
  return putAll(etcdPort, copies(size, { loadBalancer, clusterService, ipAddress, slice, node: of, pod }));
}

async function patchStatus(path: string, status: object): Promise<void> {
  await client.write({
    method: 'PATCH',
    path: `${path}/status`,
    contentType: 'application/strategic-merge-patch+json',
    body: { status },
  });
}

/** Plays the kubelets: each reports the status of its node at its interval, all of them spread evenly. */
function startKubelets(): void {
  let next = 0;
  clearInterval(kubelets);
  kubelets = setInterval(() => {
    const index = next++ % size.nodes;
    const at = new Date().toISOString();
    const { conditions } = nodeStatus(index, at) as { readonly conditions: unknown };
    // Without an answer the kubelet of the bench tries again at its next turn.
    patchStatus(`/api/v1/nodes/node-${index}`, { conditions }).catch(() => undefined);
  }, kubeletMilliseconds / size.nodes);
}

/** Changes endpoints and creates Services at these rates until `stopLoad`. */
function startLoad(changesPerSecond: number, servicesPerSecond: number): void {
  load = new Load(systemClock, { change, service: appear }, { changesPerSecond, servicesPerSecond });
  load.start();
}

async function stopLoad(): Promise<LoadFigures> {
  const figures = await load?.stop();
  if (figures === undefined) throw new Error('nothing runs');
  return figures;
}

/** Replaces one endpoint of one Service by an endpoint that is new. */
async function change(): Promise<Change> {
  const number = ++sequence;
  const index = (number * 7919) % size.services;
  const positions = changed.get(index) ?? new Map<number, number>();
  changed.set(index, positions);
  positions.set(number % endpointsOfService, number);
  const at = timeNow();
  const body = endpointSlice(index, size.nodes, positions, new Date().toISOString());
  await client.write({ method: 'PUT', path: `${slices}/${body.metadata.name}`, body });
  return { name: churnedAddress(number), at };
}

async function appear(): Promise<Change> {
  return create(`later-${++sequence}`);
}

async function create(name: string): Promise<Change> {
  await client.write({ method: 'POST', path: slices, body: laterSlice(name) });
  const at = timeNow();
  await client.write({ method: 'POST', path: services, body: laterService(name) });
  return { name, at };
}

/** Returns the address of each Service that has one, by name. */
async function ingress(): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for await (const { items } of listPages(client, services, {}, new AbortController().signal)) {
    for (const { metadata, status } of items as unknown as readonly ListedService[]) {
      const [first] = status?.loadBalancer?.ingress ?? [];
      if (first?.ip !== undefined) found[metadata.name] = first.ip;
    }
  }
  return found;
}

interface ListedService {
  readonly metadata: { readonly name: string };
  readonly status?: { readonly loadBalancer?: { readonly ingress?: readonly { readonly ip?: string }[] } };
}

/** Returns text such as that of /metrics. */
async function text(path: string): Promise<string> {
  const body: Buffer[] = [];
  const { body: sent } = await client.stream(path, {}, new AbortController().signal);
  for await (const chunk of sent) body.push(chunk);
  return Buffer.concat(body).toString('utf8');
}
