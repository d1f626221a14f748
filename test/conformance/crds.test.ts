import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { heraldApiVersion, kinds, pluralOf } from '../../src/model/kinds.ts';
import { nodeStateManifest } from '../../src/model/status-manifest.ts';
import type { NodeState } from '../../src/model/objects/node-state.ts';
import { parseObject } from '../../src/model/parse.ts';
import { reason } from '../../src/model/reasons.ts';
import type { KindDefinition } from '../../src/model/schema/kind.ts';
import { prefix } from '../../src/net/prefix.ts';
import { isDeepStrictEqual } from 'node:util';
import { brokenRules, exampleOf, outOfBounds } from '../kinds/bent-objects.ts';
import { objectsOf } from '../kinds/random-specs.ts';
import { until } from '../lab/until.ts';
import { borrowCluster } from './borrowed-cluster.ts';
import type { KubernetesCluster } from './cluster.ts';
import { apply, definition, shipped } from './manifests.ts';
import type { ApiResponse } from './request.ts';

type Json = Readonly<Record<string, unknown>>;

const root = join(import.meta.dirname, '../..');
const all: readonly KindDefinition[] = kinds;
const group = `/apis/${heraldApiVersion}`;
const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
let cluster: KubernetesCluster;

beforeAll(async () => {
  cluster = await borrowCluster();
  for (const { kind } of all) await apply(cluster, definition(kind));
  for (const { plural } of all)
    await until(`${plural} are served`, async () => (await cluster.attempt({ path: `${group}/${plural}` })).status === 200);
});

afterAll(async () => {
  await cluster?.stop();
});

/** Sends a dry run of the creation, with strict field validation. */
function attempt(object: Json): Promise<ApiResponse> {
  const path = `${group}/${pluralOf(String(object['kind']))}?dryRun=All&fieldValidation=Strict`;
  return cluster.attempt({ method: 'POST', path, body: object });
}

/** Returns everything that Herald reads of an object, except metadata that the API server sets. */
function readingOf(raw: unknown): unknown {
  const { object, problems } = parseObject(raw);
  expect(problems).toEqual([]);
  return { ...object, metadata: object?.metadata.name };
}

describe('the CRDs', () => {
  test('all CRDs are in the kustomization', () => {
    const { resources } = parse(readFileSync(join(root, 'manifests/crds/kustomization.yaml'), 'utf8')) as { resources: string[] };
    expect(resources.flatMap((file) => shipped(`crds/${file}`)).map(({ metadata }) => metadata.name)).toEqual(
      all.map(({ plural }) => `${plural}.herald.dev`),
    );
  });

  test.each(all)('the CRD of $kind is established, with a structural schema', async ({ plural }) => {
    const { status } = (await cluster.request({ path: `${crds}/${plural}.herald.dev` })) as {
      status: { conditions: { type: string; status: string }[] };
    };
    const conditions = Object.fromEntries(status.conditions.map(({ type, status }) => [type, status]));
    expect(conditions).toMatchObject({ Established: 'True', NamesAccepted: 'True' });
    expect(conditions).not.toHaveProperty('NonStructuralSchema');
  });

  test('each kind has its short names, its category and a status subresource', async () => {
    const { resources } = (await cluster.request({ path: group })) as { resources: Json[] };
    for (const { kind, plural, shortNames } of all) {
      expect(resources).toContainEqual(
        expect.objectContaining({ name: plural, kind, shortNames, categories: ['herald'], namespaced: false }),
      );
      expect(resources).toContainEqual(expect.objectContaining({ name: `${plural}/status` }));
    }
  });
});

const written = globSync('examples/**/*.yaml', { cwd: root })
  .toSorted()
  .flatMap((file) =>
    parseAllDocuments(readFileSync(join(root, file), 'utf8')).map((document) => ({ file, object: document.toJS() as Json })),
  )
  .filter(({ object }) => object?.['apiVersion'] === heraldApiVersion)
  .map(({ file, object }) => ({ what: `${file}: ${String(object['kind'])} ${(object['metadata'] as { name: string }).name}`, object }));

describe('valid objects', () => {
  const valid = [...all.map((kind) => ({ what: `the example of ${kind.kind}`, object: exampleOf(kind) as Json })), ...written];

  test('the examples are found', () => {
    expect(written.length).toBeGreaterThan(5);
  });

  test.each(valid)('an object is accepted and reads the same with its stored defaults: $what', async ({ object }) => {
    const answer = await attempt(object);
    expect(answer).toMatchObject({ status: 201 });
    expect(readingOf(answer.body)).toEqual(readingOf(object));
  });

  test.each([
    ['IPAddressPool', { autoAssign: true, avoidBuggyIPs: false, draining: false, keepReleasedSeconds: 0 }],
    ['BGPPeer', { peerPort: 179, enableGracefulRestart: false, passive: false }],
    ['BGPAdvertisement', { aggregationLength: 32, aggregationLengthV6: 128, localPref: 0 }],
    [
      'BFDProfile',
      { receiveInterval: 300, transmitInterval: 300, detectMultiplier: 3, echoInterval: 50, echoMode: false, minimumTtl: 254 },
    ],
  ])('a %s is stored with its defaults', async (name, spec) => {
    const kind = all.find(({ kind }) => kind === name);
    const { body } = await attempt(exampleOf(kind as KindDefinition));
    expect(body).toMatchObject({ spec });
  });

  test('a BGPAdvertisement and a HeraldConfig need no spec', async () => {
    const advertisement = await attempt({ apiVersion: heraldApiVersion, kind: 'BGPAdvertisement', metadata: { name: 'all' } });
    expect(advertisement).toMatchObject({ status: 201, body: { spec: { aggregationLength: 32 } } });
    const config = await attempt({ apiVersion: heraldApiVersion, kind: 'HeraldConfig', metadata: { name: 'default' } });
    expect(config.status).toBe(201);
  });

  test('no default of HeraldConfig is stored, because the next version may have another', async () => {
    const { body } = await attempt({
      apiVersion: heraldApiVersion,
      kind: 'HeraldConfig',
      metadata: { name: 'default' },
      spec: { conntrack: {} },
    });
    expect((body as { spec: Json }).spec).toEqual({ conntrack: {} });
  });
});

/** Returns the causes of a 422, each with its field. */
const causesOf = (body: unknown): readonly { readonly field: string; readonly message: string }[] =>
  (body as { details?: { causes?: { field: string; message: string }[] } }).details?.causes ?? [];

describe('invalid objects', () => {
  test.each(brokenRules())('a broken rule is refused with our message: $kind, $field $what', async ({ object, message }) => {
    const { status, body } = await attempt(object);
    expect(status).toBe(422);
    expect(causesOf(body).map((cause) => cause.message)).toContainEqual(expect.stringContaining(message));
  });

  test.each(outOfBounds())('a value out of bounds is refused: $kind, $field $what', async ({ object, field }) => {
    const { status, body } = await attempt(object);
    expect(status).toBe(422);
    expect(causesOf(body).filter((cause) => cause.field.startsWith(field))).not.toEqual([]);
  });

  test('the answer contains no password', async () => {
    const [peer] = all.filter(({ kind }) => kind === 'BGPPeer').map((kind) => exampleOf(kind) as { spec: Json });
    for (const password of ['swordfish'.repeat(20), `€${'swordfish'.repeat(8)}€€€`, ['swordfish']]) {
      const { status, body } = await attempt({ ...peer, spec: { ...peer?.spec, password } });
      expect(status).toBe(422);
      expect(JSON.stringify(body)).not.toContain('swordfish');
    }
  });

  test('an unknown field is refused by name', async () => {
    const [pool] = all.map((kind) => exampleOf(kind) as { spec: Json });
    const { status, body } = await attempt({ ...pool, spec: { ...pool?.spec, autoAsign: false } });
    expect(status).toBe(400);
    expect(JSON.stringify(body)).toContain('unknown field \\"spec.autoAsign\\"');
  });
});

/** Problems that only Herald reports and the API server does not: docs/explanation/custom-resources.md. */
const onlyOurs = [
  /overlaps/,
  /is not in the addresses of this pool/,
  /is reserved for .* already/,
  /is the same selector as one before/,
  /which no client can reach/,
  /:.* the range ends before it begins/,
];

/** Random objects rarely have several valid fields of this group together. The words of a refusal, or none. */
const dynamicNeighbors = { ranges: ['10.1.0.0/24', '2001:db8::/64'], asns: [{ from: 65_101, to: 65_110 }, { from: 65_200 }], maximum: 4 };
const withDynamic = 'must not be set together with dynamicNeighbors';
const imports = { prefixes: [{ prefix: '0.0.0.0/0' }] };
const dynamicPeers: readonly (readonly [string, Json])[] = [
  ['', { dynamicNeighbors }],
  ['', { dynamicNeighbors, vrf: 'red', ebgpMultiHop: true, passwordSecret: { name: 'tors', namespace: 'herald' } }],
  ['', { dynamicNeighbors, peerAddress: '', interface: '', sourceAddress: '', bfdProfile: '' }],
  ['', { peerAddress: '10.0.0.1', vrf: 'red', passive: true }],
  ['', { peerAddress: '10.0.0.1', vrf: '', bfdProfile: 'fast', import: imports }],
  [withDynamic, { dynamicNeighbors, peerAddress: '10.0.0.1' }],
  [withDynamic, { dynamicNeighbors, interface: 'eth1' }],
  [withDynamic, { dynamicNeighbors, import: imports }],
  ['is smaller than from', { dynamicNeighbors: { ...dynamicNeighbors, asns: [{ from: 2, to: 1 }] } }],
  ['is required', { vrf: 'red' }],
  ['is not supported in a VRF', { peerAddress: '10.0.0.1', vrf: 'red', bfdProfile: 'fast' }],
];

describe('validation by the API server and by Herald', () => {
  test.each(dynamicPeers)('both say the same ("%s") of a BGPPeer with %o', async (words, fields) => {
    const spec = { myASN: 64_512, dynamicASN: 'external', ...fields };
    const object = { apiVersion: heraldApiVersion, kind: 'BGPPeer', metadata: { name: 'tors' }, spec };
    const { status, body } = await attempt(object);
    expect(status).toBe(words === '' ? 201 : 422);
    if (words === '') expect(readingOf(body)).toEqual(readingOf(object));
    else for (const said of [causesOf(body), parseObject(object).problems]) expect(JSON.stringify(said)).toContain(words);
  });

  test.each(all.filter(({ spec }) => spec !== undefined))('both agree on random objects of $kind', async (kind) => {
    const disagreements: unknown[] = [];
    const taken = { yes: 0, no: 0 };
    for (const object of objectsOf(kind, 300, 1)) {
      const { status, body } = await attempt(object);
      const { problems } = parseObject(object);
      const ours = problems.filter(({ message }) => !onlyOurs.some((pattern) => pattern.test(message)));
      taken[status === 201 ? 'yes' : 'no']++;
      const reads = status !== 201 || problems.length > 0 || isDeepStrictEqual(readingOf(body), readingOf(object));
      const agree = status === 201 ? ours.length === 0 : problems.length > 0;
      if (!agree || !reads) disagreements.push({ object: object['spec'], status, causes: causesOf(body), problems });
    }
    // Few combinations of a BGPPeer's fields are allowed.
    expect(taken.yes).toBeGreaterThan(10);
    expect(kind.kind === 'BFDProfile' || taken.no > 20).toBe(true);
    expect(disagreements).toEqual([]);
  });
});

describe('kubectl get', () => {
  interface Table {
    readonly columnDefinitions: readonly { readonly name: string; readonly type: string; readonly priority: number }[];
    readonly rows: readonly { readonly cells: readonly unknown[] }[];
  }

  /** Returns the cells of one object's row by column name. */
  async function shown(plural: string, name: string): Promise<Json> {
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    const { columnDefinitions, rows } = (await cluster.request({ path: `${group}/${plural}/${name}`, accept })) as Table;
    return Object.fromEntries(columnDefinitions.map(({ name }, index) => [name, rows[0]?.cells[index]]));
  }

  async function make(object: Json, status: Json): Promise<void> {
    await apply(cluster, object);
    const { kind, metadata } = object as { kind: string; metadata: { name: string } };
    await cluster.request({
      method: 'PATCH',
      path: `${group}/${pluralOf(kind)}/${metadata.name}/status`,
      body: { status },
      contentType: 'application/merge-patch+json',
    });
  }

  const condition = (type: string, status: string, why: string): Json => ({
    type,
    status,
    reason: why,
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
    observedGeneration: 1,
  });
  const conditions = [condition('Accepted', 'False', 'PoolOverlaps'), condition('Ready', 'True', 'Ready')];

  test.each(all)('the table of $plural has the documented columns', async ({ plural, columns, kind }) => {
    if (kind !== 'NodeState') await apply(cluster, exampleOf(all.find((one) => one.kind === kind) as KindDefinition));
    const { columnDefinitions } = (await cluster.request({
      path: `${group}/${plural}`,
      accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
    })) as Table;
    expect(columnDefinitions.map(({ name, priority }) => [name, priority])).toEqual([
      ['Name', 0],
      ...columns.map(({ name, wide }) => [name, wide === true ? 1 : 0]),
    ]);
  });

  test('the row of a pool shows its usage and its problem', async () => {
    const pool = { apiVersion: heraldApiVersion, kind: 'IPAddressPool', metadata: { name: 'used' }, spec: { addresses: ['192.0.2.0/24'] } };
    await make(pool, { usage: '12/256', conflicts: ['other'], assignedIPv4: 12, availableIPv4: 244, conditions });
    expect(await shown('ipaddresspools', 'used')).toMatchObject({
      Usage: '12/256',
      'Auto Assign': true,
      Draining: false,
      Conflicts: '["other"]',
      Accepted: 'False',
      Ready: 'True',
      Reason: 'PoolOverlaps',
    });
  });

  test('the row of a peer shows how many of its sessions are up', async () => {
    const spec = { myASN: 64_512, peerASN: 64_513, peerAddress: '192.0.2.1' };
    const peer = { apiVersion: heraldApiVersion, kind: 'BGPPeer', metadata: { name: 'tor' }, spec };
    await make(peer, { sessions: '3/4', sessionsEstablished: 3, sessionsExpected: 4, conditions });
    expect(await shown('bgppeers', 'tor')).toMatchObject({ Address: '192.0.2.1', ASN: 64_513, Sessions: '3/4', Ready: 'True' });
  });

  test('the largest possible number of free addresses can be stored', async () => {
    const body = '{"status":{"availableIPv6":9223372036854775807}}';
    const patch = {
      method: 'PATCH',
      path: `${group}/ipaddresspools/used/status`,
      body,
      contentType: 'application/merge-patch+json',
    } as const;
    const { status } = await cluster.attempt({ ...patch, raw: true });
    expect(status).toBe(200);
  });
});

describe('server-side apply', () => {
  const byManager = (manager: string, object: Json, part = ''): Promise<ApiResponse> => {
    const { kind, metadata } = object as { kind: string; metadata: { name: string } };
    const path = `${group}/${pluralOf(kind)}/${metadata.name}${part}?fieldManager=${manager}`;
    return cluster.attempt({ method: 'PATCH', path, body: object, contentType: 'application/apply-patch+yaml' });
  };

  test('two teams each own a reservation of one pool', async () => {
    const pool = (spec: Json): Json => ({ apiVersion: heraldApiVersion, kind: 'IPAddressPool', metadata: { name: 'teams' }, spec });
    const reservation = (name: string, address: string): Json => ({ namespace: 'shop', name, address });
    await byManager('network', pool({ addresses: ['192.0.2.0/24'], reservations: [reservation('web', '192.0.2.1')] }));
    const second = await byManager('shop', pool({ addresses: ['192.0.2.0/24'], reservations: [reservation('api', '192.0.2.2')] }));
    expect(second).toMatchObject({ status: 200, body: { spec: { reservations: [{ name: 'web' }, { name: 'api' }] } } });
  });

  test('the NodeState of a later agent is stored whole, with fields that this CRD does not know', async () => {
    const state = {
      apiVersion: heraldApiVersion,
      kind: 'NodeState',
      metadata: { name: 'later' },
      status: {
        updated: '2026-01-01T00:00:00Z',
        weather: { wind: 3 },
        sessions: [{ peer: 'tor', state: 'Restarting', uptime: 7 }],
        differing: [{ service: 'shop/web', aspect: 'Mirrored', reason: { code: 'Eclipsed', details: { moon: 1, dark: true }, seen: 'x' } }],
        directReturn: { receives: ['wormhole'], depth: 3 },
      },
    };
    const { status: _, ...object } = state;
    expect((await byManager('agent', object)).status).toBe(201);
    const answer = await byManager('agent', state, '/status');
    expect(answer).toMatchObject({ status: 200, body: state });
    // Our parser reads the parts that it knows.
    expect(parseObject(answer.body)).toMatchObject({ problems: [], object: { sessions: [], differing: [], truncated: true } });
  });

  test('a NodeState with everything that an agent reports is accepted and reads the same', async () => {
    const report: NodeState = {
      kind: 'NodeState',
      metadata: {
        namespace: '',
        name: 'node1',
        uid: '',
        resourceVersion: '',
        labels: {},
        annotations: {},
        creationTimestamp: '',
        deleting: false,
      },
      updated: '2026-01-01T00:00:00Z',
      consumed: { Service: '123456789012345678901234567890', Node: '7' },
      sessions: [
        {
          peer: 'tor',
          address: 'unnumbered on eth1',
          interface: 'eth1',
          state: 'Idle',
          since: '',
          localASN: 4_294_967_295,
          peerASN: 0,
          prefixesSent: 0,
          lastError: 'x'.repeat(2000),
        },
      ],
      differing: [
        { service: 'shop/web', aspect: 'HealthCheck', reason: reason('SessionDown', { peer: 'tor', state: 'Idle', lastError: '' }) },
      ],
      truncated: true,
      problem: reason('AgentStopped', { node: 'node1' }),
      host: [reason('HealthzNotServed', { address: '0.0.0.0:10256', why: 'the port is in use' })],
      directReturn: {
        receives: ['link', 'vxlan'],
        passes: ['l2', 'vxlan'],
        networks: [prefix('10.0.0.0/24'), prefix('fd00::/64')],
        linkAddresses: ['02:00:00:00:00:01'],
        interfaces: ['eth0'],
        mtu: 1500,
      },
    };
    const { status: all, ...object } = JSON.parse(JSON.stringify(nodeStateManifest(report))) as Json;
    await byManager('agent', object);
    const answer = await byManager('agent', { ...object, status: all }, '/status');
    expect(answer).toMatchObject({ status: 200 });
    expect(readingOf(answer.body)).toEqual({ ...report, metadata: 'node1' });
  });
});
