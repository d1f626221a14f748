import { describe, expect, test } from 'vitest';
import { foreignAnnotations } from '../../../../src/model/reading/foreign-annotations.ts';
import { importServices } from '../../../../src/model/metallb/import-services.ts';
import { parseObject } from '../../../../src/model/parse.ts';
import { service } from '../parse/manifests.ts';

const balanced = (annotations: Readonly<Record<string, string>>, name = 'web', namespace = 'shop'): Record<string, unknown> => ({
  ...service({ type: 'LoadBalancer' }, { annotations, name, namespace }),
});
const warnings = (annotations: Readonly<Record<string, string>>): string[] =>
  parseObject(balanced(annotations)).warnings.map(({ path, message, fix }) => `${String(path.at(-1))} ${message} (${fix})`);

describe('an annotation of another load balancer', () => {
  test.each<[string, string, string]>([
    [
      'lbipam.cilium.io/ips',
      '192.0.2.7,2001:db8::7',
      'of Cilium and is not read (write herald.dev/load-balancer-ips: "192.0.2.7,2001:db8::7", or add cilium to compat in HeraldConfig)',
    ],
    [
      'io.cilium/lb-ipam-ips',
      '192.0.2.7',
      'of Cilium and is not read (write herald.dev/load-balancer-ips: "192.0.2.7", or add cilium to compat in HeraldConfig)',
    ],
    [
      'lbipam.cilium.io/sharing-key',
      'dns',
      'of Cilium and is not read (write herald.dev/allow-shared-ip: "dns", or add cilium to compat in HeraldConfig)',
    ],
    [
      'projectcalico.org/loadBalancerIPs',
      '["192.0.2.7","2001:db8::7"]',
      'of Calico and is not read (write herald.dev/load-balancer-ips: "192.0.2.7,2001:db8::7")',
    ],
    ['projectcalico.org/loadBalancerIPs', '192.0.2.7', 'of Calico and is not read (write herald.dev/load-balancer-ips with the addresses'],
    ['projectcalico.org/ipv4pools', '["edge"]', 'of Calico and is not read (write herald.dev/address-pool: "edge")'],
    [
      'projectcalico.org/ipv4pools',
      '["192.0.2.0/24"]',
      'of Calico and is not read (write herald.dev/address-pool with the name of one pool)',
    ],
    [
      'kube-vip.io/loadbalancerIPs',
      '192.0.2.7',
      'of kube-vip and is not read (write herald.dev/load-balancer-ips: "192.0.2.7", or add kube-vip to compat in HeraldConfig)',
    ],
    ['kube-vip.io/loadbalancerIPs', '0.0.0.0', 'of kube-vip and is not read (0.0.0.0 means an address from a DHCP server'],
    ['kube-vip.io/loadbalancerIPs', '192.0.2.7, ::', 'of kube-vip and is not read (0.0.0.0 means an address from a DHCP server'],
    ['kube-vip.io/egress', 'true', 'of kube-vip and is not read (Herald has no egress'],
    [
      'purelb.io/addresses',
      '192.0.2.7',
      'of PureLB and is not read (write herald.dev/load-balancer-ips: "192.0.2.7", or add purelb to compat in HeraldConfig)',
    ],
    [
      'purelb.io/service-group',
      'purelb/edge',
      'of PureLB and is not read (write herald.dev/address-pool: "edge", or add purelb to compat in HeraldConfig)',
    ],
    ['kube-router.io/service.local', 'true', 'of kube-router and is not read (write externalTrafficPolicy: Local)'],
    ...(
      [
        ['rr', 'round-robin'],
        ['sh', 'source-hash'],
        ['dh', 'destination-hash'],
        // Without flag-2 its mh leaves the port out.
        ['mh', 'source-hash'],
        [' rr ', 'round-robin'],
      ] as const
    ).map(([value, ours]): [string, string, string] => [
      'kube-router.io/service.scheduler',
      value,
      `of kube-router and is not read (write herald.dev/load-balancing: "${ours}")`,
    ]),
    [
      'kube-router.io/service.scheduler',
      'lblcr',
      'of kube-router and is not read (write herald.dev/load-balancing with one of random, round-robin',
    ],
    [
      'kube-router.io/service.schedflags',
      'flag-1,flag-2',
      'of kube-router and is not read (with flag-2 the scheduler mh is herald.dev/load-balancing: consistent',
    ],
    ['kube-router.io/service.skiplbips', 'true', 'of kube-router and is not read (give the Service the loadBalancerClass'],
    ['eip.openelb.kubesphere.io/v1alpha2', 'edge', 'of OpenELB and is not read (write herald.dev/address-pool: "edge")'],
  ])('%s: %s causes a warning with the fix', (name, value, text) => {
    expect(warnings({ [name]: value })).toEqual([expect.stringContaining(`${name} is an annotation ${text}`)]);
  });

  test('causes none on another kind, empty, or beside the one of Herald', () => {
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n', annotations: { 'kube-router.io/service.local': 'true' } } };
    expect(parseObject(node).warnings).toEqual([]);
    expect(warnings({ 'lbipam.cilium.io/ips': ' ' })).toEqual([]);
    expect(warnings({ 'lbipam.cilium.io/ips': '192.0.2.7', 'herald.dev/load-balancer-ips': '192.0.2.7' })).toEqual([]);
  });

  test('has an equivalent or a fix, every one', () => {
    for (const { name, ours, translate, fix } of foreignAnnotations)
      expect([name, ours !== undefined && translate === undefined ? 'same' : fix]).not.toEqual([name, '']);
  });
});

describe('import of Services of other load balancers', () => {
  const imported = (...services: readonly unknown[]) => importServices(services.map((raw) => ({ raw }))).services;

  test('translates the annotations into those of Herald', () => {
    expect(
      imported(
        balanced({
          'lbipam.cilium.io/ips': '192.0.2.7',
          'lbipam.cilium.io/sharing-key': 'k',
          'lbipam.cilium.io/sharing-cross-namespace': 'dns',
        }),
      ),
    ).toMatchObject([
      {
        service: 'shop/web',
        annotations: {
          'herald.dev/load-balancer-ips': '192.0.2.7',
          'herald.dev/allow-shared-ip': 'k',
          'herald.dev/allow-shared-ip-namespaces': 'dns',
        },
      },
    ]);
    expect(imported(balanced({ 'projectcalico.org/loadBalancerIPs': '["192.0.2.7"]' }))).toMatchObject([
      { annotations: { 'herald.dev/load-balancer-ips': '192.0.2.7' }, remarks: [] },
    ]);
  });

  test('names what has no equivalent, and two that disagree', () => {
    expect(imported(balanced({ 'kube-vip.io/loadbalancerIPs': '0.0.0.0' }))).toMatchObject([
      {
        annotations: {},
        remarks: [
          { level: 'differs', field: 'metadata.annotations["kube-vip.io/loadbalancerIPs"]', message: 'of kube-vip has no equivalent' },
        ],
      },
    ]);
    expect(imported(balanced({ 'lbipam.cilium.io/ips': '192.0.2.7', 'purelb.io/addresses': '192.0.2.8' }))).toMatchObject([
      {
        annotations: { 'herald.dev/load-balancer-ips': '192.0.2.7' },
        remarks: [{ message: expect.stringContaining('has another value') as string }],
      },
    ]);
    expect(imported(balanced({ 'lbipam.cilium.io/ips': '192.0.2.7', 'herald.dev/load-balancer-ips': '192.0.2.7' }))).toMatchObject(
      [{ annotations: {}, remarks: [] }].slice(1),
    );
  });

  test('refuses an address that is none, by the name that Herald would have', () => {
    expect(imported(balanced({ 'lbipam.cilium.io/ips': 'seven' }))).toMatchObject([{ remarks: [{ level: 'refused' }] }]);
  });

  test('adds the consent that Services of several namespaces need', () => {
    const shared = (namespace: string) => ({
      ...balanced({ 'purelb.io/allow-shared-ip': 'k', 'purelb.io/addresses': '192.0.2.7' }, 'dns', namespace),
    });
    expect(imported(shared('a'), shared('b')).map(({ annotations }) => annotations['herald.dev/allow-shared-ip-namespaces'])).toEqual([
      'b',
      'a',
    ]);
  });

  test('keeps those of MetalLB beside them', () => {
    expect(imported(balanced({ 'metallb.io/address-pool': 'edge', 'lbipam.cilium.io/ips': '192.0.2.7' }))).toMatchObject([
      { annotations: { 'herald.dev/address-pool': 'edge', 'herald.dev/load-balancer-ips': '192.0.2.7' } },
    ]);
  });
});
