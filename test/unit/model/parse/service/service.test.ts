import { describe, expect, test } from 'vitest';
import { parseObject } from '../../../../../src/model/parse.ts';
import type { Service } from '../../../../../src/model/objects/service.ts';
import { address } from '../../../../../src/net/address.ts';
import { prefix } from '../../../../../src/net/prefix.ts';
import { service } from '../manifests.ts';

function good(raw: unknown): Service {
  const { object, problems } = parseObject(raw);
  expect(problems).toEqual([]);
  if (object?.kind !== 'Service') throw new Error('not a Service');
  return object;
}

const fieldsOf = (raw: unknown): string[] => parseObject(raw).problems.map(({ field }) => field);

describe('Service', () => {
  test("missing fields get the API server's defaults", () => {
    expect(good(service())).toMatchObject({
      type: 'ClusterIP',
      headless: false,
      clusterIPs: [address('10.96.0.10')],
      ipFamilies: [4],
      ipFamilyPolicy: 'SingleStack',
      ports: [{ name: '', protocol: 'TCP', port: 80, targetPort: 80, nodePort: 0 }],
      externalTrafficPolicy: 'Cluster',
      internalTrafficPolicy: 'Cluster',
      allocateLoadBalancerNodePorts: true,
      healthCheckNodePort: 0,
      hasSelector: false,
      ingress: [],
    });
    expect(good(service())).not.toHaveProperty('affinitySeconds');
  });

  test('a Service with two clusterIPs is dual-stack', () => {
    const parsed = good(service({ clusterIP: undefined, clusterIPs: ['fd00::10', '10.96.0.10'] }));
    expect(parsed.ipFamilies).toEqual([6, 4]);
    expect(parsed.ipFamilyPolicy).toBe('RequireDualStack');
  });

  test('ClientIP affinity lasts three hours by default', () => {
    expect(good(service({ sessionAffinity: 'ClientIP' })).affinitySeconds).toBe(10_800);
    const configured = { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 7 } } };
    expect(good(service(configured)).affinitySeconds).toBe(7);
  });

  test.each(['icmp-echo', 'direct-return', 'reset-on-removal'])(
    'herald.dev/%s accepts "true" and "false", and other values are left out',
    (name) => {
      const field = name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
      const read = (value: string) => parseObject(service({}, { annotations: { [`herald.dev/${name}`]: value } }));
      expect(read('true').object).toMatchObject({ [field]: true });
      expect(read('false').object).toMatchObject({ [field]: false });
      expect(read('yes')).toMatchObject({
        object: { kind: 'Service' },
        problems: [{ field: `metadata.annotations["herald.dev/${name}"]`, message: 'is "yes"', fix: 'write "true" or "false"' }],
      });
      expect(read('yes').object).not.toHaveProperty(field);
      expect(good(service())).not.toHaveProperty(field);
    },
  );

  test('headless Services and ExternalName need no clusterIP', () => {
    expect(good(service({ clusterIP: 'None' }))).toMatchObject({ headless: true, clusterIPs: [] });
    const alias = good(service({ type: 'ExternalName', externalName: 'example.org', clusterIP: undefined, ports: undefined }));
    expect(alias).toMatchObject({ type: 'ExternalName', headless: false, clusterIPs: [], ipFamilies: [], ports: [] });
  });

  test('equal selectors have equal text', () => {
    expect(good(service({ selector: { b: '2', a: '1' } })).selectorText).toBe('a=1,b=2');
    expect(good(service({ selector: { b: '2', a: '1' } })).hasSelector).toBe(true);
  });

  test('leading zeros are read as decimal with a warning', () => {
    const { object, warnings } = parseObject(service({ clusterIP: '10.096.0.010' }));
    expect(object).toMatchObject({ clusterIPs: [address('10.96.0.10')] });
    expect(warnings).toMatchObject([{ field: 'spec.clusterIP', message: expect.stringContaining('write 10.96.0.10') }]);
  });

  test('fields that Herald does not know are ignored', () => {
    expect(good(service({ publishNotReadyAddresses: true, somethingNew: {} }))).toBeDefined();
  });

  test('a family whose source ranges include everything is not restricted', () => {
    const ranges = ['0.0.0.0/0', ' 10.0.0.0/8 ', '2001:db8::/32'];
    expect(good(service({ type: 'LoadBalancer', loadBalancerSourceRanges: ranges })).loadBalancerSourceRanges).toEqual([
      prefix('2001:db8::/32'),
    ]);
  });

  test('the record of assigned addresses is read', () => {
    const status = {
      loadBalancer: { ingress: [{ ip: '192.0.2.1', ipMode: 'Proxy' }, { hostname: 'lb.example.org' }, { ip: '2001:db8::1' }] },
    };
    const entries = Array.from({ length: 300 }, (_, index) => ({ ip: `192.0.2.${index % 250}` }));
    expect(good({ ...service({ type: 'LoadBalancer' }), status: { loadBalancer: { ingress: entries } } }).ingress).toHaveLength(300);
    expect(good({ ...service({ type: 'LoadBalancer' }), status }).ingress).toEqual([
      { address: address('192.0.2.1'), ipMode: 'Proxy' },
      { hostname: 'lb.example.org', ipMode: 'VIP' },
      { address: address('2001:db8::1'), ipMode: 'VIP' },
    ]);
  });

  test.each<[string, object, string[]]>([
    ['a missing clusterIP', { clusterIP: undefined }, ['spec.clusterIP']],
    ['a NodePort without nodePort', { type: 'NodePort' }, ['spec.ports[0].nodePort']],
    ['a nodePort with type ClusterIP', { ports: [{ port: 80, nodePort: 30_080 }] }, ['spec.ports[0].nodePort']],
    ['ports without names', { ports: [{ port: 80 }, { port: 81, name: 'b' }] }, ['spec.ports[0].name']],
    [
      'a name twice',
      {
        ports: [
          { port: 80, name: 'a' },
          { port: 81, name: 'a' },
        ],
      },
      ['spec.ports[1].name'],
    ],
    [
      'a port twice',
      {
        ports: [
          { port: 80, name: 'a' },
          { port: 80, name: 'b' },
        ],
      },
      ['spec.ports[1].port'],
    ],
    ['a port out of range', { ports: [{ port: 65_536 }] }, ['spec.ports[0].port']],
    ['a port as text', { ports: [{ port: '80' }] }, ['spec.ports[0].port']],
    ['no ports', { ports: undefined }, ['spec.ports']],
    ['an unknown protocol', { ports: [{ port: 80, protocol: 'ICMP' }] }, ['spec.ports[0].protocol']],
    ['a targetPort that is not a name', { ports: [{ port: 80, targetPort: 'No_Name' }] }, ['spec.ports[0].targetPort']],
    ['two clusterIPs of one family', { clusterIP: undefined, clusterIPs: ['10.96.0.1', '10.96.0.2'] }, ['spec.clusterIPs[1]']],
    ['clusterIP and clusterIPs that differ', { clusterIPs: ['10.96.0.11'] }, ['spec.clusterIP']],
    ['families in another order', { ipFamilies: ['IPv6'] }, ['spec.ipFamilies[0]']],
    ['a family without address', { ipFamilies: ['IPv4', 'IPv6'] }, ['spec.clusterIPs']],
    ['RequireDualStack with one address', { ipFamilyPolicy: 'RequireDualStack' }, ['spec.clusterIPs']],
    ['a headless LoadBalancer', { type: 'LoadBalancer', clusterIP: 'None' }, ['spec.clusterIP']],
    ['externalTrafficPolicy inside the cluster', { externalTrafficPolicy: 'Local' }, ['spec.externalTrafficPolicy']],
    ['a loopback external IP', { externalIPs: ['127.0.0.1'] }, ['spec.externalIPs']],
    ['source ranges without LoadBalancer', { loadBalancerSourceRanges: ['10.0.0.0/8'] }, ['spec.loadBalancerSourceRanges']],
    [
      'an affinity timeout of 0',
      { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 0 } } },
      ['spec.sessionAffinityConfig.clientIP.timeoutSeconds'],
    ],
    ['a spec that is a list', { ports: { port: 80 } }, ['spec.ports']],
  ])('a Service is refused for %s', (_what, spec, fields) => {
    expect(parseObject(service(spec)).object).toBeUndefined();
    expect(fieldsOf(service(spec))).toEqual(fields);
  });

  test('all problems of a Service are reported at once', () => {
    expect(fieldsOf(service({ clusterIP: 'x', ports: [{ port: 0 }], externalIPs: ['1.2.3'] }))).toEqual([
      'spec.clusterIP',
      'spec.ports[0].port',
      'spec.externalIPs[0]',
    ]);
  });

  test('a Service of type LoadBalancer needs no node ports', () => {
    expect(good(service({ type: 'LoadBalancer' })).ports).toMatchObject([{ nodePort: 0 }]);
  });
});

describe('address request of a Service', () => {
  const requesting = (annotations: object, spec: object = {}): unknown => service({ type: 'LoadBalancer', ...spec }, { annotations });

  test('the annotations are read', () => {
    const parsed = good(
      requesting({
        'herald.dev/load-balancer-ips': '192.0.2.1, 2001:db8::1,192.0.2.2',
        'herald.dev/address-pool': 'gold',
        'herald.dev/allow-shared-ip': 'dns',
        'herald.dev/allow-shared-ip-namespaces': 'team-b, team-a',
        'herald.dev/keep-addresses': 'true',
      }),
    );
    expect(parsed).toMatchObject({
      requestedAddresses: [address('192.0.2.1'), address('2001:db8::1'), address('192.0.2.2')],
      requestedPool: 'gold',
      sharingKey: 'dns',
      sharingNamespaces: ['team-a', 'team-b'],
      keepsAddresses: true,
    });
    expect(parsed).not.toHaveProperty('invalidRequest');
  });

  test('spec.loadBalancerIP is read', () => {
    expect(good(requesting({}, { loadBalancerIP: '192.0.2.7' })).requestedAddresses).toEqual([address('192.0.2.7')]);
  });

  test.each<[string, object, object]>([
    ['an invalid address', { 'herald.dev/load-balancer-ips': 'any' }, {}],
    ['a duplicate address', { 'herald.dev/load-balancer-ips': '192.0.2.1,192.0.2.1' }, {}],
    ['too many addresses', { 'herald.dev/load-balancer-ips': Array.from({ length: 17 }, (_, n) => `192.0.2.${n}`).join() }, {}],
    ['a switch that is neither true nor false', { 'herald.dev/keep-addresses': 'yes' }, {}],
    ['an invalid namespace', { 'herald.dev/allow-shared-ip-namespaces': 'team-a,b/c' }, {}],
    ['addresses in both places', { 'herald.dev/load-balancer-ips': '192.0.2.1' }, { loadBalancerIP: '192.0.2.1' }],
    ['an invalid pool name', { 'herald.dev/address-pool': '../etc' }, {}],
  ])('a request with %s is dropped, and the Service stays usable', (_what, annotations, spec) => {
    const { object, problems } = parseObject(requesting(annotations, spec));
    expect(object).toMatchObject({ kind: 'Service', requestedAddresses: [], invalidRequest: { problem: expect.any(String) } });
    expect(problems).toHaveLength(1);
  });

  test('a misspelt annotation gets a warning with the right name', () => {
    const { object, warnings } = parseObject(requesting({ 'herald.dev/addres-pool': 'gold' }));
    expect(object).toBeDefined();
    expect(warnings).toMatchObject([{ fix: 'did you mean herald.dev/address-pool?' }]);
  });
});
