import { expect, test } from 'vitest';
import { importServices } from '../../../../src/model/metallb/import-services.ts';

interface Wanted {
  readonly ip?: string;
  readonly key?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

const service = (namespace: string, name: string, { ip = '192.0.2.1', key = 'dns', annotations = {} }: Wanted = {}) => ({
  raw: {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace, name, annotations: { 'metallb.io/allow-shared-ip': key, ...annotations } },
    spec: { type: 'LoadBalancer', clusterIP: '10.96.0.10', ports: [{ port: 53 }] },
    status: { loadBalancer: ip === '' ? {} : { ingress: [{ ip }] } },
  },
});

const consent = (...inputs: readonly { readonly raw: unknown }[]): Record<string, string | undefined> =>
  Object.fromEntries(importServices(inputs).services.map((one) => [one.service, one.annotations['herald.dev/allow-shared-ip-namespaces']]));

test('Services of two namespaces that share an address by key alone get an annotation for each other', () => {
  expect(consent(service('a', 'x'), service('b', 'y'), service('b', 'z'))).toEqual({ 'a/x': 'b', 'b/y': 'a', 'b/z': 'a' });
  const [first] = importServices([service('a', 'x'), service('b', 'y')]).services;
  expect(first?.remarks).toEqual([
    expect.objectContaining({
      level: 'differs',
      message: 'shares 192.0.2.1 with b/y by the key alone, which Herald does not accept across namespaces',
    }),
  ]);
});

test.each<[string, Wanted, Wanted]>([
  ['other keys', {}, { key: 'other' }],
  ['other addresses', {}, { ip: '192.0.2.2' }],
  ['no address', { ip: '' }, { ip: '' }],
])('Services of two namespaces with %s share nothing', (_, one, other) => {
  expect(consent(service('a', 'x', one), service('b', 'y', other))).toEqual({ 'a/x': undefined, 'b/y': undefined });
});

test('a namespace that a Service admits already stays admitted', () => {
  const admits = { annotations: { 'herald.dev/allow-shared-ip-namespaces': 'b,d' } };
  expect(consent(service('a', 'x', admits), service('b', 'y'), service('c', 'z'))).toEqual({ 'a/x': 'b,c,d', 'b/y': 'a,c', 'c/z': 'a,b' });
  const everyone = { annotations: { 'herald.dev/allow-shared-ip-namespaces': '*' } };
  expect(consent(service('a', 'x', everyone), service('b', 'y'))).toEqual({ 'a/x': undefined, 'b/y': 'a' });
});

test('Services that request one IPv6 address share it before they have it', () => {
  const asks = { ip: '', annotations: { 'metallb.io/loadBalancerIPs': '2001:db8::1' } };
  expect(consent(service('a', 'x', asks), service('b', 'y', asks))).toEqual({ 'a/x': 'b', 'b/y': 'a' });
});
