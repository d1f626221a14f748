import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { KubeClient } from '../../src/kube/client/client.ts';
import { FormatChoice } from '../../src/kube/format/format-choice.ts';
import { agentPod } from '../../src/kube/format/protobuf/kinds/agent-pod.ts';
import { endpointSlice, endpointSliceOfAgent } from '../../src/kube/format/protobuf/kinds/endpoint-slice.ts';
import { namespace } from '../../src/kube/format/protobuf/kinds/namespace.ts';
import { node } from '../../src/kube/format/protobuf/kinds/node.ts';
import { service } from '../../src/kube/format/protobuf/kinds/service.ts';
import { isProtobuf } from '../../src/kube/format/protobuf/media-type.ts';
import type { ObjectTable } from '../../src/kube/format/protobuf/object-table.ts';
import type { RawObject } from '../../src/kube/raw-object.ts';
import { listPages, pagesBy } from '../../src/kube/reflector/list-pages.ts';
import { readAgentPod } from '../../src/model/parse/kubernetes/agent-pod.ts';
import { parseObject, type ParseOptions } from '../../src/model/parse.ts';
import { KubernetesSource } from '../../src/sources/kubernetes/kubernetes-source.ts';
import { systemClock } from '../../src/system/clock.ts';
import { silentLog } from '../../src/system/log.ts';
import { systemRandom } from '../../src/system/random.ts';
import { until } from '../lab/until.ts';
import { pathsIn, pathsOf, projected } from '../unit/kube/format/protobuf/projection.ts';
import { borrowCluster } from './borrowed-cluster.ts';
import type { KubernetesCluster } from './cluster.ts';
import { apply, pathOf } from './manifests.ts';
import { agentPodObject, endpointSlices, namespaceObject, nodeObject, services } from '../unit/kube/format/protobuf/built-in-objects.ts';

let cluster: KubernetesCluster;
let client: KubeClient;
const signal = new AbortController().signal;

beforeAll(async () => {
  cluster = await borrowCluster();
  const { server, certificateAuthority: ca, token } = cluster.admin;
  const credentials = async () => ({ ca, authorization: `Bearer ${token}` });
  client = new KubeClient({ server: new URL(server), credentials, expired: () => undefined }, { clock: systemClock });
  await create();
});

afterAll(async () => {
  client?.close();
  await cluster?.stop();
});

async function create(): Promise<void> {
  for (const object of [namespaceObject, nodeObject, agentPodObject, ...services, ...endpointSlices]) {
    const { status, ...rest } = { status: undefined, ...object };
    await apply(cluster, rest);
    const path = `${pathOf(object)}/status`;
    if (status !== undefined)
      await cluster.request({ method: 'PATCH', path, body: { status }, contentType: 'application/merge-patch+json' });
  }
  // Finalizers hold them back, so they have a deletionTimestamp.
  const ends = [namespaceObject, nodeObject, agentPodObject, ...services, ...endpointSlices].filter(
    ({ metadata }) => 'finalizers' in metadata,
  );
  for (const object of ends) await cluster.request({ method: 'DELETE', path: pathOf(object) });
}

const parsed = (options: ParseOptions, apiVersion: string, kind: string) => (raw: RawObject) =>
  parseObject({ ...raw, apiVersion, kind }, { unknownFields: 'warned of', ...options });

interface Case {
  readonly table: ObjectTable;
  readonly path: string;
  readonly read: (raw: RawObject) => unknown;
  /** Fields of the table that no object of this kind can have. */
  readonly never?: readonly string[];
}

const discovery = 'discovery.k8s.io/v1';
const cases: Readonly<Record<string, Case>> = {
  'Services of a controller': {
    table: service,
    path: '/api/v1/services',
    read: parsed({}, 'v1', 'Service'),
    never: ['metadata.generation'],
  },
  'Services of an agent': {
    table: service,
    path: '/api/v1/services',
    read: parsed({ forAgent: true }, 'v1', 'Service'),
    never: ['metadata.generation'],
  },
  'EndpointSlices of a controller': {
    table: endpointSlice,
    path: `/apis/${discovery}/endpointslices`,
    read: parsed({}, discovery, 'EndpointSlice'),
  },
  'EndpointSlices of an agent': {
    table: endpointSliceOfAgent,
    path: `/apis/${discovery}/endpointslices`,
    read: parsed({ forAgent: true }, discovery, 'EndpointSlice'),
  },
  Nodes: { table: node, path: '/api/v1/nodes', read: parsed({}, 'v1', 'Node'), never: ['metadata.namespace', 'metadata.generation'] },
  Namespaces: {
    table: namespace,
    path: '/api/v1/namespaces',
    read: parsed({}, 'v1', 'Namespace'),
    never: ['metadata.namespace', 'metadata.generation'],
  },
  "agents' Pods": { table: agentPod, path: '/api/v1/pods', read: readAgentPod },
};

async function inJson(path: string): Promise<RawObject[]> {
  const found: RawObject[] = [];
  for await (const { items } of listPages(client, path, {}, signal)) found.push(...items);
  return found;
}

/** Reads a list in pages of this many objects. Fails when an answer is in anything but protobuf. */
async function inProtobuf(table: ObjectTable, path: string, limit: number): Promise<RawObject[]> {
  const format = new FormatChoice(table);
  const found: RawObject[] = [];
  let pages = 0;
  const page = async (query: object) => {
    const { contentType, body } = await client.getAs(format.accept, path, { ...query, limit }, signal);
    expect(contentType).toSatisfy(isProtobuf);
    pages++;
    return format.formatOf(contentType).list(body);
  };
  for await (const { items } of pagesBy(page, {})) found.push(...items);
  expect(pages).toBe(Math.max(1, Math.ceil(found.length / limit)));
  return found;
}

/** Reads the list that a watch begins with. */
async function streamed(table: ObjectTable, path: string): Promise<RawObject[]> {
  const stop = new AbortController();
  const format = new FormatChoice(table);
  const query = { watch: true, allowWatchBookmarks: true, sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' };
  const { contentType, body } = await client.stream(path, query, stop.signal, format.accept);
  expect(contentType).toSatisfy(isProtobuf);
  const events = format.formatOf(contentType).eventReader();
  const found: RawObject[] = [];
  for await (const chunk of body) {
    for (const event of events.push(chunk)) {
      if (event.type !== 'bookmark') found.push(event.object);
      else if (event.complete) return found;
    }
  }
  throw new Error('the list ended before it was complete');
}

const byKey = (objects: readonly RawObject[]): RawObject[] =>
  objects.toSorted((a, b) => `${a.metadata.namespace} ${a.metadata.name}`.localeCompare(`${b.metadata.namespace} ${b.metadata.name}`));

describe.each(Object.entries(cases))('%s in protobuf', (_, { table, path, read, never = [] }) => {
  test('equal the JSON form, in pages and streamed, and lead to the same objects', async () => {
    const json = byKey(await inJson(path));
    expect(json.length).toBeGreaterThan(0);
    for (const objects of [await inProtobuf(table, path, 500), await inProtobuf(table, path, 1), await streamed(table, path)]) {
      const found = byKey(objects);
      expect(found).toStrictEqual(json.map((one) => projected(table.message, one)));
      expect(found.map(read)).toStrictEqual(json.map(read));
    }
  });

  test('the objects that are compared have a value in every field of the table', async () => {
    const found = new Set((await inJson(path)).flatMap((one) => pathsIn(table.message, one)));
    expect(pathsOf(table.message).filter((field) => !found.has(field) && !never.includes(field))).toEqual([]);
  });
});

test('EndpointSlices with random content are the same in protobuf and in JSON', async () => {
  const path = `/apis/${discovery}/namespaces/default/endpointslices`;
  const text = fc.string({ unit: 'grapheme', maxLength: 20 });
  const random = fc.record({
    annotations: fc.dictionary(fc.stringMatching(/^[a-z]{1,20}$/), text),
    ports: fc.uniqueArray(
      fc.record({ port: fc.option(fc.integer({ min: 1, max: 65_535 })), protocol: fc.constantFrom('TCP', 'UDP', 'SCTP') }),
      {
        maxLength: 1,
      },
    ),
    endpoints: fc.array(
      fc.record(
        {
          addresses: fc.ipV4().map((address) => [address.replace(/^\d+/, '10')]),
          conditions: fc.record({ ready: fc.boolean(), serving: fc.boolean(), terminating: fc.boolean() }, { requiredKeys: [] }),
          nodeName: fc.stringMatching(/^[a-z]{1,30}$/),
          zone: text,
          targetRef: fc.record({
            kind: fc.constantFrom('Pod', 'Other', ''),
            name: text,
            namespace: fc.constantFrom('default', 'other', ''),
          }),
        },
        { requiredKeys: ['addresses'] },
      ),
      { maxLength: 12 },
    ),
  });
  const refused: unknown[] = [];
  const sample = fc.sample(random, { seed: 20, numRuns: 200 });
  for (const [index, { annotations, ...content }] of sample.entries()) {
    const body = {
      apiVersion: discovery,
      kind: 'EndpointSlice',
      metadata: { name: `random-${index}`, annotations },
      addressType: 'IPv4',
      ...content,
    };
    const { status, body: answer } = await cluster.attempt({ method: 'POST', path, body });
    if (status !== 201) refused.push(answer);
  }
  expect(refused.slice(0, 3)).toEqual([]);
  const json = byKey(await inJson(path));
  const found = byKey(await inProtobuf(endpointSlice, path, 50));
  expect(found).toStrictEqual(json.map((one) => projected(endpointSlice.message, one)));
  const { read = () => undefined } = cases['EndpointSlices of a controller'] ?? {};
  expect(found.map(read)).toStrictEqual(json.map(read));
  await cluster.request({ method: 'DELETE', path: `${path}?fieldSelector=metadata.name!=x` });
});

describe('a source', () => {
  /** The media types of all answers to watches of built-in kinds. */
  const source = (answered: Set<string>, json: boolean, options: { readonly node?: string }): KubernetesSource => {
    const { server, certificateAuthority: ca, token } = cluster.admin;
    const credentials = async () => ({ ca, authorization: `Bearer ${token}` });
    const own = new KubeClient({ server: new URL(server), credentials, expired: () => undefined }, { clock: systemClock });
    const stream = own.stream.bind(own);
    own.stream = async (path, query, abort, accept) => {
      const answer = await stream(path, query, abort, json ? 'application/json' : accept);
      answered.add(`${path} ${answer.contentType}`);
      return answer;
    };
    return new KubernetesSource({ client: own, clock: systemClock, random: systemRandom, log: silentLog }, options);
  };
  const kinds = ['services', 'nodes', 'namespaces'].map((plural) => `/api/v1/${plural}`).concat(`/apis/${discovery}/endpointslices`);

  test.each([
    { who: 'an agent', options: { node: 'node1' } },
    { who: 'a controller', options: {} },
  ])('of $who reads built-in kinds in protobuf, and has the same snapshot as in JSON, also after changes', async ({ options }) => {
    const [asked, askedJson] = [new Set<string>(), new Set<string>()];
    const [fast, plain] = [source(asked, false, options), source(askedJson, true, options)];
    try {
      await Promise.all([fast.start(), plain.start()]);
      for (const path of kinds) {
        expect(asked).toContain(`${path} application/vnd.kubernetes.protobuf;stream=watch`);
        expect(askedJson).toContain(`${path} application/json`);
      }
      const contents = ({ snapshot }: KubernetesSource) => ({
        services: [...snapshot.services.values()],
        nodes: [...snapshot.nodes.values()],
        namespaces: [...snapshot.namespaces.values()],
        slices: [...snapshot.services.keys()].flatMap((key) => snapshot.endpointSlices(key)),
      });
      const same = (): void => expect(sorted(contents(fast))).toStrictEqual(sorted(contents(plain)));
      same();
      const name = `changes-${options.node ?? 'controller'}`;
      const changing = { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace: 'default' }, spec: { ports: [{ port: 80 }] } };
      const key = `default/${name}` as const;
      const both = (holds: (one: KubernetesSource) => boolean) => until('both have the change', () => holds(fast) && holds(plain));
      await apply(cluster, changing);
      await both(({ snapshot }) => snapshot.services.has(key));
      same();
      await apply(cluster, { ...changing, spec: { ports: [{ port: 81, targetPort: 'web' }], selector: { app: 'x' } } });
      await both(({ snapshot }) => snapshot.services.get(key)?.ports[0]?.port === 81);
      same();
      await cluster.request({ method: 'DELETE', path: `/api/v1/namespaces/default/services/${name}` });
      await both(({ snapshot }) => !snapshot.services.has(key));
      same();
      expect(fast.problems()).toStrictEqual(plain.problems());
    } finally {
      await Promise.all([fast.close(), plain.close()]);
    }
  });
});

const sorted = (
  contents: Readonly<Record<string, readonly { readonly metadata: { readonly name: string; readonly namespace: string } }[]>>,
) =>
  Object.fromEntries(
    Object.entries(contents).map(([name, list]) => [
      name,
      list.toSorted((a, b) => `${a.metadata.namespace} ${a.metadata.name}`.localeCompare(`${b.metadata.namespace} ${b.metadata.name}`)),
    ]),
  );

test.each([
  ['a kind that is forbidden', '/api/v1/services', 403, 'forbidden', 'services is forbidden'],
  ['an object that does not exist', '/api/v1/namespaces/default/services/none', 404, 'notFound', 'services "none" not found'],
])('the refusal of %s is read in protobuf', async (_, path, status, code, message) => {
  const account = await cluster.serviceAccountToken('default', 'nobody');
  const { server, certificateAuthority: ca, token } = cluster.admin;
  const authorization = `Bearer ${status === 403 ? account : token}`;
  const own = new KubeClient(
    { server: new URL(server), credentials: async () => ({ ca, authorization }), expired: () => undefined },
    { clock: systemClock },
  );
  await expect(own.getAs(new FormatChoice(service).accept, path, {})).rejects.toMatchObject({
    status,
    code,
    message: expect.stringContaining(message),
  });
  own.close();
});
