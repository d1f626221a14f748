import { describe, expect, test } from 'vitest';
import { reportAddresses, renderAddresses } from '../../../../../src/cli/commands/import/service-addresses.ts';
import { importServices } from '../../../../../src/model/metallb/import-services.ts';
import { manifest } from '../../../../../src/cli/commands/import/tools/tool.ts';

interface Wanted {
  readonly name?: string;
  readonly namespace?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: object;
  readonly status?: readonly string[];
}

const service = ({ name = 'web', namespace = 'shop', annotations = {}, spec = {}, status = [] }: Wanted = {}): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace, annotations },
  spec: { type: 'LoadBalancer', ports: [{ port: 80 }], ...spec },
  status: { loadBalancer: { ingress: status.map((ip) => ({ ip })) } },
});

const pools = [manifest('IPAddressPool', 'main', { addresses: ['192.0.2.0/28', '2001:db8::/120'] })];

const report = (services: readonly object[], manifests = pools) => {
  const documents = services.map((raw, index) => ({ raw, where: `services.yaml:${index + 1}` }));
  return reportAddresses(documents, manifests, importServices(documents).services);
};

const lines = (services: readonly object[], manifests = pools): string[] => renderAddresses(report(services, manifests).addresses).slice(1);

const commands = (services: readonly object[]): Record<string, object> =>
  Object.fromEntries(report(services).services.map((one) => [one.service, one.annotations]));

const losses = (services: readonly object[], manifests = pools): string[] =>
  report(services, manifests).services.flatMap((one) => one.remarks.filter(({ level }) => level !== 'note').map(({ message }) => message));

const ips = 'herald.dev/load-balancer-ips';

describe('addresses of one Service', () => {
  test.each<[string, Wanted, string]>([
    ['spec.loadBalancerIP', { spec: { loadBalancerIP: '192.0.2.1' } }, 'asks for 192.0.2.1; the same of IPAddressPool main: pinned'],
    ["Herald's annotation", { annotations: { [ips]: '192.0.2.1' } }, 'asks for 192.0.2.1; the same of IPAddressPool main: pinned'],
    ['an IPv6 address', { spec: { loadBalancerIP: '2001:db8::7' } }, 'asks for 2001:db8::7; the same of IPAddressPool main: pinned'],
    ['a status', { status: ['192.0.2.1'] }, 'has 192.0.2.1; the same of IPAddressPool main while its status has it: pin it'],
    [
      'both families',
      { status: ['192.0.2.1', '2001:db8::1'] },
      'has 192.0.2.1 and 2001:db8::1; the same of IPAddressPool main while its status has it: pin it',
    ],
    ['nothing', {}, 'no address; an address of IPAddressPool main'],
    [
      'a class of its own',
      { spec: { loadBalancerClass: 'io.cilium/bgp', loadBalancerIP: '192.0.2.1' } },
      'asks for 192.0.2.1; the same of IPAddressPool main: pinned',
    ],
    [
      'UDP',
      { spec: { loadBalancerIP: '192.0.2.1', ports: [{ port: 53, protocol: 'UDP' }] } },
      'asks for 192.0.2.1; the same of IPAddressPool main: pinned',
    ],
  ])('a Service with %s', (_, wanted, line) => {
    expect(lines([service(wanted)])).toEqual([`  shop/web (services.yaml:1): ${line}`]);
    expect(losses([service(wanted)])).toEqual([]);
  });

  test.each<[string, string]>([
    ['lbipam.cilium.io/ips', '192.0.2.1'],
    ['metallb.io/loadBalancerIPs', '192.0.2.1'],
    ['metallb.universe.tf/loadBalancerIPs', '192.0.2.1'],
    ['kube-vip.io/loadbalancerIPs', '192.0.2.1'],
    ['purelb.io/addresses', '192.0.2.1'],
    ['projectcalico.org/loadBalancerIPs', '["192.0.2.1"]'],
  ])('an address that only %s asks for is a loss, with the command', (name, value) => {
    const asking = [service({ annotations: { [name]: value } })];
    expect(lines(asking)).toEqual([expect.stringContaining('would get another address: pin it, then the same of IPAddressPool main')]);
    expect(losses(asking)).toContain('asks for 192.0.2.1, and would get another address');
    expect(commands(asking)).toEqual({ 'shop/web': { [ips]: '192.0.2.1' } });
  });

  test('an address outside of the pools is a loss, without a command that would not help', () => {
    for (const wanted of [{ spec: { loadBalancerIP: '203.0.113.1' } }, { status: ['203.0.113.1'] }]) {
      expect(losses([service(wanted)])).toEqual([expect.stringContaining('203.0.113.1, which Herald would not give it')]);
      expect(commands([service(wanted)])).toEqual({ 'shop/web': {} });
    }
  });

  test('a status that differs from the request says which address the Service would get', () => {
    expect(losses([service({ status: ['192.0.2.2'], spec: { loadBalancerIP: '192.0.2.1' } })])).toEqual([
      expect.stringContaining('it would get 192.0.2.1, which it asks for'),
    ]);
  });

  test('without a pool nothing is claimed, and an address of a status is pinned', () => {
    expect(lines([service({ status: ['192.0.2.1'] })], [])).toEqual([expect.stringContaining('not known: no pool was imported')]);
    expect(commands([service({ status: ['192.0.2.1'] })])).toEqual({ 'shop/web': { [ips]: '192.0.2.1' } });
  });

  test('a Service that Herald cannot read is a loss', () => {
    expect(losses([service({ spec: { ports: [{ port: 80_000 }] } })])).toEqual([expect.stringContaining('spec.ports[0].port')]);
  });

  test('Services of another type are not listed', () => {
    expect(lines([service({ spec: { type: 'ClusterIP' } })])).toEqual([]);
  });
});

describe('two requests in one Service', () => {
  const both = (name: string, value: string): object[] => [
    service({ annotations: { [name]: value }, spec: { loadBalancerIP: '192.0.2.1' } }),
  ];

  test('spec.loadBalancerIP beside an equal annotation of kube-vip or Cilium needs no command', () => {
    for (const name of ['kube-vip.io/loadbalancerIPs', 'lbipam.cilium.io/ips', 'purelb.io/addresses']) {
      expect([lines(both(name, '192.0.2.1')), losses(both(name, '192.0.2.1')), commands(both(name, '192.0.2.1'))]).toEqual([
        [expect.stringContaining('pinned')],
        [],
        {},
      ]);
    }
  });

  test.each<[string, string, string]>([
    ['kube-vip.io/loadbalancerIPs', '192.0.2.1,2001:db8::1', '192.0.2.1,2001:db8::1'],
    ['kube-vip.io/loadbalancerIPs', '2001:db8::1, 192.0.2.1', '2001:db8::1,192.0.2.1'],
    ['kube-vip.io/loadbalancerIPs', '192.0.2.2', '192.0.2.2'],
    ['purelb.io/addresses', '192.0.2.1,2001:db8::1', '192.0.2.1,2001:db8::1'],
    ['projectcalico.org/loadBalancerIPs', '["192.0.2.1","2001:db8::1"]', '192.0.2.1,2001:db8::1'],
    ['lbipam.cilium.io/ips', '192.0.2.1,2001:db8::1', '192.0.2.1,2001:db8::1'],
    ['lbipam.cilium.io/ips', '2001:db8::1', '192.0.2.1,2001:db8::1'],
  ])('spec.loadBalancerIP beside %s: %s is replaced by the command', (name, value, list) => {
    const asking = both(name, value);
    const [imported] = report(asking).services;
    const requested = (imported?.annotations[ips] ?? '').split(',').map((text) => text.trim());
    expect([requested.join(), imported?.withoutField]).toEqual([list, true]);
    expect(report(asking).addresses.map(({ after }) => after.map(({ address }) => address))).toEqual([requested]);
    expect(losses(asking)).toEqual([expect.stringContaining(`asks for ${requested.join(' and ')}`)]);
  });

  test('a field that asks for a part of the addresses in the status is replaced by all of them', () => {
    const one = service({ status: ['192.0.2.1', '2001:db8::1'], spec: { loadBalancerIP: '192.0.2.1' } });
    expect(lines([one])).toEqual([expect.stringContaining('would get another address: pin it, then the same of IPAddressPool main')]);
    expect(report([one]).services).toMatchObject([{ annotations: { [ips]: '192.0.2.1,2001:db8::1' }, withoutField: true }]);
  });

  test('a list of Herald stays as it is', () => {
    const one = service({ status: ['192.0.2.1', '2001:db8::1'], annotations: { [ips]: '192.0.2.1' } });
    expect(commands([one])).toEqual({ 'shop/web': {} });
  });
});

describe('Services with one address', () => {
  const dns = (name: string, protocol: string, wanted: Wanted = {}): object =>
    service({ name, ...wanted, spec: { loadBalancerIP: '192.0.2.3', ports: [{ port: 53, protocol }] } });

  test('get a key by which they share it', () => {
    const shared = [dns('tcp', 'TCP'), dns('udp', 'UDP')];
    expect(lines(shared)).toEqual([expect.stringContaining('shared with shop/udp'), expect.stringContaining('shared with shop/tcp')]);
    expect(commands(shared)).toEqual({
      'shop/tcp': { 'herald.dev/allow-shared-ip': '192.0.2.3' },
      'shop/udp': { 'herald.dev/allow-shared-ip': '192.0.2.3' },
    });
    expect(report(shared).addresses.map(({ after }) => after)).toEqual([
      [{ address: '192.0.2.3', pool: 'main' }],
      [{ address: '192.0.2.3', pool: 'main' }],
    ]);
  });

  test('of two namespaces admit each other', () => {
    const shared = [dns('tcp', 'TCP', { namespace: 'a' }), dns('udp', 'UDP', { namespace: 'b' })];
    expect(commands(shared)).toEqual({
      'a/tcp': { 'herald.dev/allow-shared-ip': '192.0.2.3', 'herald.dev/allow-shared-ip-namespaces': 'b' },
      'b/udp': { 'herald.dev/allow-shared-ip': '192.0.2.3', 'herald.dev/allow-shared-ip-namespaces': 'a' },
    });
  });

  test('keep a key that one of them has', () => {
    const shared = [dns('tcp', 'TCP', { annotations: { 'lbipam.cilium.io/sharing-key': 'dns' } }), dns('udp', 'UDP')];
    expect(commands(shared)).toEqual({
      'shop/tcp': { 'herald.dev/allow-shared-ip': 'dns' },
      'shop/udp': { 'herald.dev/allow-shared-ip': 'dns' },
    });
  });

  test('and one port cannot share it, which is a loss', () => {
    const shared = [dns('one', 'TCP'), dns('two', 'TCP')];
    expect(losses(shared)).toEqual([expect.stringContaining('asks for 192.0.2.3, which Herald would not give it')]);
  });
});

test('a Service without an address takes none that another one asks for, and 0.0.0.0 is no address', () => {
  const asking = service({ name: 'last', spec: { loadBalancerIP: '192.0.2.0' } });
  const found = lines([service({ name: 'first' }), service({ name: 'lease', spec: { loadBalancerIP: '0.0.0.0' } }), asking]);
  expect(found).toEqual([
    expect.stringContaining('first (services.yaml:1): no address; an address of IPAddressPool main'),
    expect.stringContaining('lease (services.yaml:2): no address; none: requested address 0.0.0.0 is in no valid IPAddressPool'),
    expect.stringContaining('last (services.yaml:3): asks for 192.0.2.0; the same of IPAddressPool main: pinned'),
  ]);
});

test.each(['0.0.0.0', '::', '127.0.0.1', 'ff02::1'])('a request for %s has no advice to add it to a pool', (loadBalancerIP) => {
  const found = lines([service({ spec: { loadBalancerIP } })]);
  expect(found).toEqual([expect.stringContaining('is in no valid IPAddressPool')]);
  expect(found.join()).not.toMatch(/add \S+ to spec\.addresses|create an IPAddressPool/);
});

test('a Service that is in two files is looked at twice', () => {
  const twice = [service({ spec: { loadBalancerIP: '192.0.2.1' } }), service({ spec: { loadBalancerIP: '203.0.113.1' } })];
  expect(lines(twice)).toEqual([expect.stringMatching(/services\.yaml:1\).*pinned/), expect.stringMatching(/services\.yaml:2\).*none/)]);
});

test('every Service of a large cluster is looked at in time that grows with their number', () => {
  const many = Array.from({ length: 4000 }, (_, index) =>
    service({ name: `s${index}`, status: [`198.51.${Math.trunc(index / 250)}.${index % 250}`] }),
  );
  const ranges = Array.from({ length: 16 }, (_, index) => manifest('IPAddressPool', `p${index}`, { addresses: [`198.51.${index}.0/24`] }));
  const { addresses } = report(many, ranges);
  expect(addresses.filter(({ outcome }) => outcome === 'kept')).toHaveLength(4000);
});
