import { describe, expect, test } from 'vitest';
import { parseAnyObject } from '../../../../src/model/metallb/read.ts';
import { service } from '../parse/manifests.ts';

type Programs = readonly ('metallb' | 'cilium' | 'kube-vip' | 'purelb')[];
const read = (compat: Programs, annotations: object, spec: object = {}) =>
  parseAnyObject(service({ type: 'LoadBalancer', ...spec }, { annotations }), { compat, namespace: 'metallb-system' });
const requested = (compat: Programs, annotations: object, spec: object = {}): unknown => {
  const { object, problems } = read(compat, annotations, spec);
  expect(problems).toEqual([]);
  return object?.kind === 'Service' ? object.requestedAddresses.map(({ family }) => family) : undefined;
};

describe('annotations of a program in compat', () => {
  test.each<[Programs[number], string, string]>([
    ['metallb', 'metallb.io/loadBalancerIPs', 'metallb.io/allow-shared-ip'],
    ['cilium', 'lbipam.cilium.io/ips', 'lbipam.cilium.io/sharing-key'],
    ['cilium', 'io.cilium/lb-ipam-ips', 'io.cilium/lb-ipam-sharing-key'],
    ['kube-vip', 'kube-vip.io/loadbalancerIPs', ''],
    ['purelb', 'purelb.io/addresses', 'purelb.io/allow-shared-ip'],
  ])('%s: %s is a request of both families, %s a sharing key', (program, ips, key) => {
    const annotations = { [ips]: '192.0.2.7, 2001:db8::7', ...(key === '' ? {} : { [key]: 'web' }) };
    const { object, problems, warnings } = read([program], annotations);
    expect([...problems, ...warnings]).toEqual([]);
    expect(object).toMatchObject({
      requestedAddresses: [{ family: 4 }, { family: 6 }],
      requestedBy: [ips],
      ...(key === '' ? {} : { sharingKey: 'web' }),
    });
  });

  test('Services that ask for an address by the annotation of kube-vip have one sharing key, unless they have their own', () => {
    const ips = { 'kube-vip.io/loadbalancerIPs': '192.0.2.7' };
    expect(read(['kube-vip'], ips).object).toMatchObject({ sharingKey: 'kube-vip.io/loadbalancerIPs', sharingNamespaces: [] });
    expect(read(['kube-vip'], { ...ips, 'herald.dev/allow-shared-ip': 'web' }).object).toMatchObject({ sharingKey: 'web' });
    for (const one of [read(['kube-vip'], {}), read(['kube-vip'], {}, { loadBalancerIP: '192.0.2.7' }), read(['cilium'], ips)])
      expect(one.object).not.toHaveProperty('sharingKey');
  });

  test('the pool of PureLB and the namespaces of Cilium are read', () => {
    expect(read(['purelb'], { 'purelb.io/service-group': 'purelb/edge' }).object).toMatchObject({
      requestedPool: 'edge',
      requestedBy: ['purelb.io/service-group'],
    });
    expect(read(['cilium'], { 'lbipam.cilium.io/sharing-cross-namespace': 'dns,web' }).object).toMatchObject({
      sharingNamespaces: ['dns', 'web'],
    });
  });

  test('those of other programs stay a warning', () => {
    const { object, warnings } = read(['cilium'], { 'purelb.io/addresses': '192.0.2.7' });
    expect(object).toMatchObject({ requestedAddresses: [] });
    expect(warnings).toMatchObject([{ message: 'is an annotation of PureLB and is not read' }]);
    expect(read(['kube-vip'], { 'kube-vip.io/ignore': 'true' }).warnings).toMatchObject([
      { message: 'is an annotation of kube-vip and is not read' },
    ]);
  });

  test.each([
    [{ 'kube-vip.io/loadbalancerIPs': '0.0.0.0' }, {}, 'kube-vip.io/loadbalancerIPs'],
    [{ 'kube-vip.io/loadbalancerIPs': '192.0.2.7,::' }, {}, 'kube-vip.io/loadbalancerIPs'],
    [{}, { loadBalancerIP: '0.0.0.0' }, 'spec.loadBalancerIP'],
    [{ 'kube-vip.io/loadbalancerIPs': '0.0.0.0' }, { loadBalancerIP: '192.0.2.7' }, 'kube-vip.io/loadbalancerIPs'],
  ])('an address of DHCP is refused with that reason: %j %j', (annotations, spec, field) => {
    const { object, problems } = read(['kube-vip'], annotations, spec);
    expect(object).toMatchObject({
      requestedAddresses: [],
      invalidRequest: { field, problem: expect.stringContaining('DHCP') as string },
    });
    expect(problems).toMatchObject([
      { message: expect.stringContaining('DHCP') as string, fix: expect.stringContaining('fixed address') as string },
    ]);
  });

  test('0.0.0.0 says nothing of DHCP without kube-vip in compat', () => {
    expect(read(['cilium'], {}, { loadBalancerIP: '0.0.0.0' }).object).not.toHaveProperty('invalidRequest');
  });

  test("Herald's own wins, and one that disagrees is named", () => {
    const own = { 'herald.dev/load-balancer-ips': '192.0.2.1' };
    const { object, warnings } = read(['purelb'], { ...own, 'purelb.io/addresses': '192.0.2.2' });
    expect(object).toMatchObject({ requestedAddresses: [{ family: 4 }] });
    expect(object).not.toHaveProperty('requestedBy');
    expect(warnings).toMatchObject([
      {
        path: ['metadata', 'annotations', 'purelb.io/addresses'],
        message: 'is not used: herald.dev/load-balancer-ips has another value',
        fix: 'remove one of the two',
      },
    ]);
    expect(read(['purelb'], { ...own, 'purelb.io/addresses': '192.0.2.1' }).warnings).toEqual([]);
    expect(read(['kube-vip'], { ...own, 'kube-vip.io/loadbalancerIPs': '0.0.0.0' })).toMatchObject({
      object: { requestedAddresses: [{ family: 4 }] },
      problems: [],
    });
  });

  test('of two programs the first in compat wins, MetalLB before all', () => {
    const both = { 'lbipam.cilium.io/ips': '192.0.2.2', 'metallb.io/loadBalancerIPs': '192.0.2.1' };
    expect(read(['cilium', 'metallb'], both)).toMatchObject({
      object: { requestedBy: ['metallb.io/loadBalancerIPs'] },
      warnings: [{ message: 'is not used: metallb.io/loadBalancerIPs has another value' }],
    });
  });

  test('a mistake is reported for the annotation as written', () => {
    const { object, problems } = read(['purelb'], { 'purelb.io/addresses': 'seven' });
    expect(problems).toMatchObject([{ field: 'metadata.annotations["purelb.io/addresses"]' }]);
    expect(object).toMatchObject({ invalidRequest: { field: 'purelb.io/addresses' }, requestedAddresses: [] });
  });

  test('spec.loadBalancerIP beside the annotation counts as in each program', () => {
    const single = { loadBalancerIP: '192.0.2.7' };
    expect(requested(['kube-vip'], { 'kube-vip.io/loadbalancerIPs': '192.0.2.7' }, single)).toHaveLength(1);
    expect(requested(['purelb'], { 'purelb.io/addresses': '192.0.2.8' }, single)).toHaveLength(1);
    expect(read(['purelb'], { 'purelb.io/addresses': '192.0.2.8' }, single).warnings).toMatchObject([
      { field: 'spec.loadBalancerIP', message: 'is not used: purelb.io/addresses names other addresses' },
    ]);
    expect(requested(['cilium'], { 'lbipam.cilium.io/ips': '192.0.2.8' }, single)).toHaveLength(2);
    expect(requested(['cilium'], { 'lbipam.cilium.io/ips': '192.0.2.7' }, single)).toHaveLength(1);
    expect(requested(['cilium'], {}, single)).toHaveLength(1);
  });

  test("MetalLB's objects are not read without metallb", () => {
    const raw = { apiVersion: 'metallb.io/v1beta1', kind: 'IPAddressPool', metadata: { name: 'a', namespace: 'metallb-system' }, spec: {} };
    expect(parseAnyObject(raw, { compat: ['cilium', 'purelb'], namespace: 'metallb-system' }).problems).toMatchObject([
      { message: 'IPAddressPool of MetalLB is read only with compat: metallb' },
    ]);
  });
});
