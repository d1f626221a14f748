import { describe, expect, test } from 'vitest';
import { parseObject } from '../../../../src/model/parse.ts';
import { address } from '../../../../src/net/address.ts';
import { formatPrefix } from '../../../../src/net/prefix.ts';
import { slice, ours } from './manifests.ts';

describe('EndpointSlice', () => {
  test.each<[object, object]>([
    [{}, { ready: true, serving: true, terminating: false }],
    [{ ready: null }, { ready: true, serving: true, terminating: false }],
    [{ ready: false }, { ready: false, serving: true, terminating: false }],
    [
      { ready: false, terminating: true },
      { ready: false, serving: true, terminating: true },
    ],
    [
      { serving: false, terminating: true },
      { ready: true, serving: false, terminating: true },
    ],
    [
      { ready: false, serving: true, terminating: true },
      { ready: false, serving: true, terminating: true },
    ],
  ])("conditions %j are read with the API's defaults", (conditions, expected) => {
    const { object } = parseObject(slice({ endpoints: [{ addresses: ['10.244.0.5'], conditions }] }));
    expect(object).toMatchObject({ service: 'shop/web', family: 4, endpoints: [expected] });
  });

  test.each<[string, object | undefined, string | undefined]>([
    ['a Pod of its namespace', { kind: 'Pod', namespace: 'shop', name: 'web-1' }, 'web-1'],
    ['a Pod without a namespace', { kind: 'Pod', name: 'web-1' }, 'web-1'],
    ['a Pod of another namespace', { kind: 'Pod', namespace: 'kube-system', name: 'web-1' }, undefined],
    ['another object', { kind: 'VirtualMachine', namespace: 'shop', name: 'web-1' }, undefined],
    ['no name', { kind: 'Pod', namespace: 'shop' }, undefined],
    ['nothing', undefined, undefined],
  ])('an endpoint whose targetRef names %s has the right Pod', (_, targetRef, pod) => {
    const { object } = parseObject(
      slice({ endpoints: [{ addresses: ['10.244.0.5'], ...(targetRef === undefined ? {} : { targetRef }) }] }),
    );
    expect((object as { endpoints?: readonly { pod?: string }[] }).endpoints?.map((endpoint) => endpoint.pod)).toEqual([pod]);
  });

  test('an IPv6 slice holds IPv6 addresses', () => {
    const { object } = parseObject(
      slice({ addressType: 'IPv6', endpoints: [{ addresses: ['fd00::5'], nodeName: 'n1', hints: { forZones: [{ name: 'a' }] } }] }),
    );
    expect(object).toMatchObject({ family: 6, endpoints: [{ address: address('fd00::5'), nodeName: 'n1', hintZones: ['a'] }] });
  });

  test('a slice keeps only the labels and annotations that are used', () => {
    const used = {
      'kubernetes.io/service-name': 'web',
      'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
      'service.kubernetes.io/headless': '',
    };
    const trigger = { 'endpoints.kubernetes.io/last-change-trigger-time': '2026-01-01T00:00:00Z' };
    const metadata = {
      name: 'web-1',
      namespace: 'shop',
      labels: { ...used, app: 'web', 'helm.sh/chart': 'web-1' },
      annotations: { ...trigger, 'herald.dev/weight': '3', 'example.com/any': 'x' },
    };
    const { object } = parseObject(slice({ metadata }));
    expect(object?.metadata).toMatchObject({ name: 'web-1', namespace: 'shop' });
    expect([object?.metadata.labels, object?.metadata.annotations]).toEqual([used, trigger]);
    expect(object).toMatchObject({ service: 'shop/web', weight: 3 });
  });

  test('endpoints share lists of hints with one name, and lists with more names stay apart', () => {
    const hinted = (...names: readonly string[]): object => ({
      addresses: ['10.244.0.5'],
      hints: { forZones: names.map((name) => ({ name })) },
    });
    const { object } = parseObject(
      slice({ endpoints: [hinted('a'), hinted('b'), hinted('a'), hinted('a', 'b'), hinted(), hinted('a b')] }),
    );
    const zones = (object as { endpoints: readonly { hintZones: readonly string[] }[] }).endpoints.map(({ hintZones }) => hintZones);
    expect(zones).toEqual([['a'], ['b'], ['a'], ['a', 'b'], [], ['a b']]);
    expect(zones[0]).toBe(zones[2]);
  });

  test.each([['fd00::5'], ['127.0.0.1'], ['169.254.1.1'], ['pod'], ['224.0.0.1']])('the endpoint %s is refused', (ip) => {
    const result = parseObject(slice({ endpoints: [{ addresses: [ip] }] }));
    expect(result.object).toBeUndefined();
    expect(result.problems).toMatchObject([{ field: 'endpoints[0].addresses[0]' }]);
  });

  test('a slice of DNS names has no endpoints and gets a warning', () => {
    const { object, warnings } = parseObject(slice({ addressType: 'FQDN', endpoints: [{ addresses: ['example.org'] }] }));
    expect(object).toMatchObject({ endpoints: [] });
    expect(warnings).toHaveLength(1);
  });

  test('a slice without the service-name label belongs to no Service', () => {
    expect(parseObject(slice({ metadata: { name: 'x' } })).object).not.toHaveProperty('service');
  });
});

describe('core/v1 Endpoints', () => {
  const endpoints = (subsets: object[], metadata: object = {}): object => ({
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'web', namespace: 'shop', ...metadata },
    subsets,
  });

  test('Endpoints are mirrored into one slice for each family of each subset', () => {
    const { object, companions } = parseObject(
      endpoints([
        {
          addresses: [{ ip: '10.0.0.1', nodeName: 'n1' }, { ip: 'fd00::1' }],
          notReadyAddresses: [{ ip: '10.0.0.2' }],
          ports: [{ port: 80 }],
        },
        { addresses: [{ ip: '10.0.0.3' }], ports: [{ port: 81, protocol: 'UDP' }] },
      ]),
    );
    expect([object, ...companions]).toMatchObject([
      {
        metadata: { name: 'web-mirror' },
        service: 'shop/web',
        family: 4,
        endpoints: [
          { ready: true, nodeName: 'n1' },
          { ready: false, serving: false },
        ],
      },
      { metadata: { name: 'web-mirror-2' }, service: 'shop/web', family: 6 },
      { metadata: { name: 'web-mirror-3' }, family: 4, ports: [{ port: 81, protocol: 'UDP' }] },
    ]);
  });

  test('Endpoints with the skip-mirror label yield no slices', () => {
    const labels = { 'endpointslice.kubernetes.io/skip-mirror': 'true' };
    expect(parseObject(endpoints([], { labels }))).toMatchObject({ problems: [], companions: [] });
    expect(parseObject(endpoints([], { labels })).object).toBeUndefined();
  });
});

describe('Node', () => {
  test('internal addresses, pod CIDRs and conditions are read', () => {
    const { object, warnings } = parseObject({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'n1', annotations: { heartbeat: '1' } },
      spec: {
        podCIDR: '10.244.1.0/24',
        podCIDRs: ['10.244.1.0/24', 'fd00:1::/64'],
        taints: [{ key: 'ToBeDeletedByClusterAutoscaler', value: '1700000000', effect: 'NoSchedule' }],
      },
      status: {
        addresses: [
          { type: 'InternalIP', address: '192.0.2.1' },
          { type: 'Hostname', address: 'n1' },
          { type: 'InternalIP', address: 'bad' },
        ],
        conditions: [
          { type: 'NetworkUnavailable', status: 'True' },
          { type: 'Ready', status: 'Unknown' },
        ],
      },
    });
    expect(object).toMatchObject({
      internalIPs: [address('192.0.2.1')],
      networkUnavailable: true,
      ready: false,
      toBeDeleted: true,
      metadata: { annotations: {} },
    });
    expect(warnings).toMatchObject([{ field: 'status.addresses[2].address' }]);
  });

  test('a Node without status is ready', () => {
    expect(parseObject({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } }).object).toMatchObject({
      ready: true,
      networkUnavailable: false,
      toBeDeleted: false,
    });
  });
});

describe('drain annotation of a Node', () => {
  const annotated = (value: string) =>
    parseObject({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1', annotations: { 'herald.dev/drain': value } } });

  test.each([
    ['true', 'keepLast'],
    ['force', 'force'],
    ['false', undefined],
    ['', undefined],
  ])('%j is read as %j', (value, drain) => {
    const { object, problems } = annotated(value);
    expect(object).toHaveProperty('internalIPs');
    expect(object?.kind === 'Node' ? object.drain : 'no Node').toBe(drain);
    expect(problems).toEqual([]);
  });

  test('an invalid value is left out, and the Node stays usable', () => {
    const { object, problems } = annotated('yes');
    expect(object?.kind === 'Node' ? object.drain : 'no Node').toBeUndefined();
    expect(problems).toMatchObject([{ field: 'metadata.annotations["herald.dev/drain"]', fix: 'write "true", "force" or "false"' }]);
  });

  test('taints are read by their keys and do not request a drain by themselves', () => {
    const taints = ['b', 'a', 'b'].map((key) => ({ key: `example.com/${key}`, effect: 'NoSchedule' }));
    const { object } = parseObject({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' }, spec: { unschedulable: true, taints } });
    expect(object).toMatchObject({ taints: ['example.com/a', 'example.com/b'] });
    expect(object).not.toHaveProperty('drain');
  });
});

describe('Namespace', () => {
  test('a Namespace gets the label that the API server sets', () => {
    expect(parseObject({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }).object).toMatchObject({
      metadata: { labels: { 'kubernetes.io/metadata.name': 'shop' } },
    });
  });
});

describe('Secret', () => {
  const secret = (body: object): object => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 's' },
    type: 'kubernetes.io/basic-auth',
    ...body,
  });

  test('the password is read, and stringData takes precedence over data', () => {
    const data = { password: Buffer.from('hunter2').toString('base64') };
    expect(parseObject(secret({ data })).object).toMatchObject({ password: 'hunter2' });
    expect(parseObject(secret({ data, stringData: { password: 'plain' } })).object).toMatchObject({ password: 'plain' });
    expect(parseObject(secret({})).object).not.toHaveProperty('password');
  });

  test.each<[object]>([
    [secret({ data: { password: 'hunter2!' } })],
    [secret({ data: 'hunter2' })],
    [secret({ stringData: 'hunter2' })],
    [secret({ stringData: { password: ['hunter2'] } })],
    [secret({ type: 'hunter2'.repeat(200) })],
    [ours('BGPPeer', { myASN: 1, peerASN: 2, peerAddress: '192.0.2.1', password: 'hunter2'.repeat(20) })],
    [ours('BGPPeer', { myASN: 1, peerASN: 2, peerAddress: '192.0.2.1', password: { value: 'hunter2' } })],
  ])('the password never appears in problems or warnings (case %#)', (raw) => {
    const { problems, warnings } = parseObject(raw);
    expect(problems.length).toBeGreaterThan(0);
    expect(JSON.stringify([problems, warnings])).not.toContain('hunter2');
  });
});

test('a ServiceCIDR is read with its ranges', () => {
  const raw = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'ServiceCIDR',
    metadata: { name: 'kubernetes' },
    spec: { cidrs: ['10.96.0.0/12', 'fd96::/112'] },
  };
  const { object, problems } = parseObject(raw);
  expect([object?.kind === 'ServiceCIDR' && object.cidrs.map(formatPrefix), problems]).toEqual([['10.96.0.0/12', 'fd96::/112'], []]);
  expect(parseObject({ ...raw, spec: { cidrs: ['10.96.0.0'] } }).problems).toHaveLength(1);
});
