import { describe, expect, test } from 'vitest';
import { parseAnyObject } from '../../../../src/model/metallb/read.ts';
import { service } from '../parse/manifests.ts';

const mode = { compat: ['metallb'], namespace: 'metallb-system' } as const;
const read = (annotations: object, spec: object = {}) => parseAnyObject(service({ type: 'LoadBalancer', ...spec }, { annotations }), mode);

describe('MetalLB annotations of a Service', () => {
  test.each(['metallb.io/', 'metallb.universe.tf/'])('%s: pool, addresses and sharing key are read', (prefix) => {
    const { object, problems } = read({
      [`${prefix}address-pool`]: 'edge',
      [`${prefix}loadBalancerIPs`]: '192.0.2.7, 2001:db8::7',
      [`${prefix}allow-shared-ip`]: 'web',
      [`${prefix}ip-allocated-from-pool`]: 'old',
    });
    expect(problems).toEqual([]);
    expect(object).toMatchObject({
      requestedPool: 'edge',
      requestedAddresses: [{ family: 4 }, { family: 6 }],
      sharingKey: 'web',
      metadata: { annotations: { 'herald.dev/address-pool': 'edge' } },
    });
  });

  test('only annotations with the deprecated prefix get a warning', () => {
    expect(read({ 'metallb.io/address-pool': 'a' }).warnings).toEqual([]);
    expect(read({ 'metallb.universe.tf/address-pool': 'a' }).warnings).toMatchObject([
      { path: ['metadata', 'annotations', 'metallb.universe.tf/address-pool'], message: 'is deprecated in MetalLB' },
    ]);
  });

  test('the current prefix takes precedence over the deprecated one, even when its value is empty', () => {
    expect(read({ 'metallb.io/address-pool': 'a', 'metallb.universe.tf/address-pool': 'b' }).object).toMatchObject({ requestedPool: 'a' });
    expect(read({ 'metallb.io/allow-shared-ip': '', 'metallb.universe.tf/allow-shared-ip': 'b' }).object).not.toHaveProperty('sharingKey');
  });

  test("Herald's annotation takes precedence over both, and a contradiction gets a warning", () => {
    const both = read({ 'metallb.io/address-pool': 'a', 'herald.dev/address-pool': 'b' });
    expect(both.object).toMatchObject({ requestedPool: 'b' });
    expect(both.warnings).toMatchObject([{ path: ['metadata', 'annotations', 'metallb.io/address-pool'] }]);
    expect(read({ 'metallb.io/address-pool': 'a', 'herald.dev/address-pool': 'a' }).warnings).toEqual([]);
  });

  test('a mistake is reported for the annotation as written, and only the address waits', () => {
    const { object, problems } = read({ 'metallb.io/loadBalancerIPs': 'seven' });
    expect(problems).toMatchObject([
      { path: ['metadata', 'annotations', 'metallb.io/loadBalancerIPs'], field: 'metadata.annotations["metallb.io/loadBalancerIPs"]' },
    ]);
    expect(object).toMatchObject({ invalidRequest: { field: 'metallb.io/loadBalancerIPs' }, requestedAddresses: [] });
  });

  test('spec.loadBalancerIP excludes the annotations, as in MetalLB', () => {
    const { object } = read({ 'metallb.io/loadBalancerIPs': '192.0.2.7' }, { loadBalancerIP: '192.0.2.8' });
    expect(object).toMatchObject({ invalidRequest: { problem: 'must not be set together with spec.loadBalancerIP' } });
  });

  test('an unknown annotation of MetalLB gets a warning', () => {
    expect(read({ 'metallb.io/adress-pool': 'a' }).warnings).toMatchObject([
      { message: expect.stringContaining('not an annotation of MetalLB') as unknown },
    ]);
  });

  test('without compat every annotation of MetalLB is ignored with a warning', () => {
    const raw = service({ type: 'LoadBalancer' }, { annotations: { 'metallb.io/address-pool': 'a' } });
    const { object, warnings } = parseAnyObject(raw, { compat: [], namespace: 'metallb-system' });
    expect(object).not.toHaveProperty('requestedPool');
    expect(warnings).toHaveLength(1);
  });
});
