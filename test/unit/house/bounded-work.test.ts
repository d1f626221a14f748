import { describe, test } from 'vitest';
import { BareMetalProvider } from '../../../providers/bare-metal/provider.ts';
import { serviceConditions } from '../../../src/controller/services/service-conditions.ts';
import { frontendElements } from '../../../src/dataplane/ruleset/elements.ts';
import { decideAnnouncement } from '../../../src/decisions/announcement/decision.ts';
import { decideForwarding } from '../../../src/decisions/forwarding/plan.ts';
import { annotationPrefix, annotationTable } from '../../../src/model/annotations.ts';
import { heraldApiVersion, kinds } from '../../../src/model/kinds.ts';
import { limits } from '../../../src/model/limits.ts';
import { translateAnnotations } from '../../../src/model/reading/metallb-annotations.ts';
import { parseObject } from '../../../src/model/parse.ts';
import { address } from '../../../src/net/address.ts';
import { expectBoundedWork, largestAnnotation, longTexts } from '../../support/bounded-work.ts';
import { advertisement, config, node, peer, pool, service } from '../decisions/fixtures.ts';
import { TestSource } from '../test-source.ts';

const list = <T>(size: number, item: (index: number) => T): T[] => Array.from({ length: size }, (_, index) => item(index));
const map = (size: number, key: (index: number) => string, value = 'v'): Record<string, string> =>
  Object.fromEntries(list(size, (index) => [key(index), value]));

interface Parts {
  readonly metadata?: object;
  readonly spec?: object;
  readonly status?: object;
}

function serviceWith({ metadata = {}, spec = {}, status = {} }: Parts): object {
  const ports = [{ port: 80, nodePort: 30_080, name: 'http' }];
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'default', uid: 'u', ...metadata },
    spec: { type: 'LoadBalancer', clusterIP: '10.96.0.1', ports, ...spec },
    status,
  };
}

/** Returns the work of controller and agent when the object arrives, and when it has an address. */
function workFor(object: object): () => void {
  const source = new TestSource(
    config({ services: 'all' }),
    node({ name: 'node1' }),
    pool({ name: 'main', addresses: ['192.0.2.0/24', '2001:db8::/120'] }),
    peer({ name: 'tor' }),
    advertisement({ name: 'all' }),
    service({ name: 'other' }),
  );
  const { snapshot } = source;
  return () => {
    const { object: parsed } = parseObject(object);
    if (parsed === undefined) return;
    source.put(parsed);
    if (parsed.kind !== 'Service') return;
    const provider = new BareMetalProvider();
    provider.adopt(snapshot, new Map(), new Map());
    void provider.reconcile(parsed, snapshot);
    const assigned = { ...parsed, ingress: [{ address: address('192.0.2.1'), ipMode: 'VIP' as const }] };
    source.put(assigned);
    serviceConditions(snapshot, assigned, { reason: undefined, details: [] }, 0);
    decideAnnouncement(snapshot, assigned, 'node1');
    const { forwarding } = decideForwarding(snapshot, assigned, 'node1');
    for (const frontend of forwarding?.frontends ?? []) frontendElements(frontend);
  };
}

describe('the work for one Service of address pools', () => {
  test.each(Object.values(annotationTable).flatMap(({ name, on }) => (on === 'Service' ? [name] : [])))(
    'is bounded for any text of %s',
    (name) => {
      for (const [shape, make] of Object.entries(longTexts))
        expectBoundedWork(`${shape} in ${name}`, largestAnnotation, (length) =>
          workFor(serviceWith({ metadata: { annotations: { [name]: make(length) } } })),
        );
    },
  );

  const most = limits.mapEntries;
  test.each<readonly [string, number, (size: number) => Parts]>([
    [
      'unknown annotations',
      most,
      (size) => ({ metadata: { annotations: map(size, (index) => `${annotationPrefix}allow-shared-ip-names-${index}`) } }),
    ],
    [
      'annotations of others',
      most,
      (size) => ({ metadata: { annotations: map(size, (index) => `example.com/${index}`, 'v'.repeat(200)) } }),
    ],
    ['labels', most, (size) => ({ metadata: { labels: map(size, (index) => `label-${index}`) } })],
    ['finalizers', most, (size) => ({ metadata: { finalizers: list(size, (index) => `example.com/${index}`) } })],
    ['a selector', most, (size) => ({ spec: { selector: map(size, (index) => `label-${index}`) } })],
    ['ports', limits.servicePorts, (size) => ({ spec: { ports: ports(size) } })],
    ['ports with one name', limits.servicePorts, (size) => ({ spec: { ports: ports(size).map((port) => ({ ...port, name: 'same' })) } })],
    ['external IPs', limits.externalIPs, (size) => ({ spec: { externalIPs: list(size, (index) => `203.0.113.${index}`) } })],
    [
      'source ranges',
      limits.sourceRanges,
      (size) => ({ spec: { loadBalancerSourceRanges: list(size, (index) => `10.0.${index >> 8}.${index & 255}/32`) } }),
    ],
    // Only programs may write the status.
    [
      'recorded addresses',
      1000,
      (size) => ({ status: { loadBalancer: { ingress: list(size, (index) => ({ ip: `10.0.${index >> 8}.${index & 255}` })) } } }),
    ],
    [
      'conditions',
      limits.ingressRead,
      (size) => ({ status: { conditions: list(size, () => ({ type: 'x', status: 'True', reason: 'X', message: 'm' })) } }),
    ],
  ])('is bounded for the largest field: %s', (what, largest, parts) => {
    expectBoundedWork(what, largest, (size) => workFor(serviceWith(parts(size))));
  });

  test('is bounded for annotations of MetalLB', () => {
    expectBoundedWork('annotations', most, (size) => {
      const annotations = map(size, (index) => `metallb.io/allow-shared-ip-names-${index}`);
      return () => void translateAnnotations(annotations);
    });
  });
});

function ports(size: number): { readonly name: string; readonly port: number; readonly nodePort: number }[] {
  return list(size, (index) => ({ name: `p${index}`, port: 1 + index, nodePort: 30_000 + index }));
}

/** Values that a field may have in a request of at most 1.5 MiB, which is what etcd takes. By name. */
const largeValues: Readonly<Record<string, (size: number) => unknown>> = {
  text: (size) => 'a'.repeat(size * 20),
  'a list of texts': (size) => list(size, (index) => `a${index}`),
  'a list of addresses': (size) => list(size, (index) => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}/32`),
  'a list of objects': (size) => list(size, (index) => ({ name: `a${index}`, matchLabels: { a: 'b' } })),
  'an object': (size) => map(size, (index) => `field${index}`),
};

describe('the work for one object', () => {
  const fieldsOf = kinds.flatMap(({ kind, spec }) => Object.keys(spec?.fields ?? {}).map((field) => [kind, field] as const));
  test.each([...fieldsOf, ...kinds.map(({ kind }) => [kind, 'unknown'] as const)])(
    'is bounded for any value of spec.%s.%s',
    (kind, field) => {
      for (const [shape, make] of Object.entries(largeValues))
        expectBoundedWork(`${shape} in ${kind}.${field}`, 20_000, (size) => {
          const object = { apiVersion: heraldApiVersion, kind, metadata: { name: 'one' }, spec: { [field]: make(size) } };
          return () => parseObject(object);
        });
    },
  );

  test.each([
    ['endpoints', (size: number) => ({ endpoints: list(size, (index) => ({ addresses: [`10.0.${index >> 8}.${index & 255}`] })) })],
    ['ports', (size: number) => ({ ports: list(size, (index) => ({ name: `p${index}`, port: 1 + index })) })],
    ['addresses', (size: number) => ({ endpoints: [{ addresses: list(size, (index) => `10.0.${index >> 8}.${index & 255}`) }] })],
  ])('is bounded for the %s of an EndpointSlice', (what, fields) => {
    expectBoundedWork(what, 10_000, (size) => {
      const metadata = { name: 'web-1', namespace: 'default', labels: { 'kubernetes.io/service-name': 'web' } };
      const object = { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', metadata, addressType: 'IPv4', ...fields(size) };
      return () => parseObject(object);
    });
  });
});
