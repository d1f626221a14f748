import { describe, expect, test } from 'vitest';
import { sysctlName } from '../../../../src/decisions/host/kernel-setting.ts';
import { droppingAnswers, entriesOf, requiredSettings, type HostFacts } from '../../../../src/decisions/host/required-settings.ts';
import { defaultConntrack } from '../../../../src/model/kinds/default-config.ts';
import { reason } from '../../../../src/model/reasons.ts';
import { prefix } from '../../../../src/net/prefix.ts';

const facts: HostFacts = {
  families: [4, 6],
  interfaces: [{ name: 'eth0', address: '10.0.0.1', length: 24 }],
  advertisedDefault: [],
  peerInterfaces: [],
  podPrefixes: [prefix('10.244.0.0/16')],
  cores: 8,
};
const well: Readonly<Record<string, string>> = {
  'net/ipv4/ip_forward': '1',
  'net/ipv4/conf/eth0/forwarding': '1',
  'net/ipv4/conf/all/rp_filter': '0',
  'net/ipv4/conf/eth0/rp_filter': '0',
  'net/ipv6/conf/all/forwarding': '1',
  'net/netfilter/nf_conntrack_tcp_be_liberal': '1',
  'net/netfilter/nf_conntrack_tcp_loose': '1',
  'net/netfilter/nf_conntrack_acct': '1',
  'net/ipv4/conf/all/route_localnet': '0',
};

/** Prints "path=wanted" for each setting that is wrong. */
function wrong(values: Readonly<Record<string, string>>, more: Partial<HostFacts> = {}): string[] {
  const observed: Readonly<Record<string, string | undefined>> = { ...well, ...values };
  const required = requiredSettings({ ...facts, ...more });
  return required.filter(({ holds }) => !holds((path) => observed[path])).map(({ path, wanted }) => `${path}=${wanted}`);
}

describe('kernel settings', () => {
  test('a disabled ip_forward is reported alone, without the interfaces that follow it', () => {
    expect(wrong({ 'net/ipv4/ip_forward': '0', 'net/ipv4/conf/eth0/forwarding': '0' })).toEqual(['net/ipv4/ip_forward=1']);
  });

  test('settings of a family without forwarding are not checked', () => {
    const off = { 'net/ipv4/ip_forward': '0', 'net/ipv6/conf/all/forwarding': '0' };
    expect(wrong(off, { families: [4] })).toEqual(['net/ipv4/ip_forward=1']);
    expect(wrong(off, { families: [6], advertisedDefault: [] })).toEqual(['net/ipv6/conf/all/forwarding=1']);
  });

  test('L2-26 an announcing interface sends no redirects, by its own setting and by that of all', () => {
    const both = { 'net/ipv4/conf/all/send_redirects': '1', 'net/ipv4/conf/eth0/send_redirects': '1' };
    expect(wrong(both)).toEqual([]);
    expect(wrong(both, { linkInterfaces: ['eth0'] })).toEqual([
      'net/ipv4/conf/all/send_redirects=0',
      'net/ipv4/conf/eth0/send_redirects=0',
    ]);
    const off = { 'net/ipv4/conf/all/send_redirects': '0', 'net/ipv4/conf/eth0/send_redirects': '0' };
    expect(wrong(off, { linkInterfaces: ['eth0'] })).toEqual([]);
  });

  test('L2-27 the reverse-path filter of an announcing interface lets clients in, even without a network', () => {
    const strict = {
      'net/ipv4/conf/eth9/rp_filter': '1',
      'net/ipv4/conf/all/send_redirects': '0',
      'net/ipv4/conf/eth9/send_redirects': '0',
    };
    expect(wrong({ ...strict, 'net/ipv4/conf/eth9/forwarding': '1' })).toEqual([]);
    expect(wrong({ ...strict, 'net/ipv4/conf/eth9/forwarding': '1' }, { linkInterfaces: ['eth9'] })).toEqual([
      'net/ipv4/conf/eth9/rp_filter=2',
    ]);
  });

  test('`reads` lists every setting that a check reads', () => {
    for (const { path, reads, holds } of requiredSettings({ ...facts, advertisedDefault: ['eth0'] })) {
      const looked = new Set<string>([path]);
      holds((name) => void looked.add(name));
      expect(reads.toSorted()).toEqual([...looked].toSorted());
    }
  });

  test('correct settings are not reported', () => {
    expect(wrong({})).toEqual([]);
  });

  test.each([
    ['net/ipv4/ip_forward', '0', '1'],
    ['net/ipv6/conf/all/forwarding', '0', '1'],
    ['net/ipv4/conf/eth0/forwarding', '0', '1'],
    ['net/netfilter/nf_conntrack_tcp_be_liberal', '0', '1'],
    ['net/netfilter/nf_conntrack_tcp_loose', '0', '1'],
    ['net/ipv4/conf/all/route_localnet', '1', '0'],
  ])('%s must not be %s', (path, value, wanted) => {
    expect(wrong({ [path]: value })).toEqual([`${path}=${wanted}`]);
  });

  test.each([
    ['0', '0', true],
    ['0', '1', false],
    ['1', '0', false],
    ['1', '1', false],
    ['0', '2', true],
    ['1', '2', true],
    ['2', '0', true],
    ['2', '1', true],
  ])('rp_filter all=%s and eth0=%s, of which the greater counts: accepted is %s', (all, own, holds) => {
    expect(wrong({ 'net/ipv4/conf/all/rp_filter': all, 'net/ipv4/conf/eth0/rp_filter': own })).toEqual(
      holds ? [] : ['net/ipv4/conf/eth0/rp_filter=2'],
    );
  });

  test('rp_filter is checked where clients come in, not on interfaces of pods, bridges and host routes', () => {
    const interfaces = [
      ...facts.interfaces,
      { name: 'cni0', address: '10.244.1.1', length: 24 },
      { name: 'br7', address: '10.7.0.1', length: 24 },
      { name: 'cali1', address: '169.254.1.1', length: 32 },
      { name: 'swp1', address: 'fe80::1', length: 64 },
      { name: 'swp2', address: 'fe80::2', length: 64 },
    ];
    const values = Object.fromEntries(interfaces.map(({ name }) => [`net/ipv4/conf/${name}/rp_filter`, '1']));
    const forwarding = Object.fromEntries(interfaces.map(({ name }) => [`net/ipv4/conf/${name}/forwarding`, '1']));
    expect(wrong({ ...values, ...forwarding }, { interfaces, peerInterfaces: ['swp1', 'gone'], podInterfaces: ['br*'] })).toEqual([
      'net/ipv4/conf/eth0/rp_filter=2',
      'net/ipv4/conf/swp1/rp_filter=2',
    ]);
  });

  test('accept_ra is set to 2 before IPv6 forwarding is switched on', () => {
    const ra = 'net/ipv6/conf/eth0/accept_ra';
    const values = { [ra]: '1', 'net/ipv6/conf/all/forwarding': '0' };
    expect(wrong(values, { advertisedDefault: ['eth0'] })).toEqual([`${ra}=2`, 'net/ipv6/conf/all/forwarding=1']);
    expect(wrong({ ...values, [ra]: '0' }, { advertisedDefault: ['eth0'] })).toEqual(['net/ipv6/conf/all/forwarding=1']);
    const forwarding = requiredSettings({ ...facts, advertisedDefault: ['eth0'] }).find(
      ({ path }) => path === 'net/ipv6/conf/all/forwarding',
    );
    expect(forwarding?.after).toEqual([ra]);
  });

  test('a setting that other programs may rely on is reported and not set', () => {
    expect(
      requiredSettings(facts)
        .filter(({ mayBeSet }) => !mayBeSet)
        .map(({ path }) => path),
    ).toEqual(['net/ipv4/conf/all/route_localnet']);
  });

  test('sysctlName writes names like sysctl(8), also for an interface with a dot', () => {
    expect(sysctlName({ path: 'net/ipv4/conf/eth0.100/rp_filter' })).toBe('net.ipv4.conf.eth0/100.rp_filter');
  });
});

describe('connection tracking settings', () => {
  const path = (name: string): string => `net/netfilter/nf_conntrack_${name}`;
  const values = { [path('max')]: '262144', [path('tcp_timeout_established')]: '432000', [path('tcp_timeout_close_wait')]: '60' };

  test('defaults match kube-proxy: a table size for each core with a minimum, and TCP timeouts', () => {
    const conntrack = defaultConntrack;
    const times = [`${path('tcp_timeout_established')}=86400`, `${path('tcp_timeout_close_wait')}=3600`];
    expect(wrong(values, { conntrack })).toEqual(times);
    expect(wrong({ ...values, [path('max')]: '262143' }, { conntrack })).toEqual([`${path('max')}=262144`, ...times]);
    expect(wrong({ ...values, [path('max')]: '1000' }, { conntrack, cores: 2 })).toEqual([`${path('max')}=131072`, ...times]);
  });

  test('the table size is never lowered, and 0 leaves a setting unchanged', () => {
    const nothing = { ...defaultConntrack, maxPerCore: 0, tcpEstablishedSeconds: 0, tcpCloseWaitSeconds: 0 };
    expect(wrong({ ...values, [path('max')]: '1' }, { conntrack: nothing })).toEqual([]);
    expect(wrong({ ...values, [path('max')]: '9000000' }, { conntrack: { ...nothing, maxPerCore: 100 } })).toEqual([]);
    const udp = { ...nothing, udpSeconds: 10, udpStreamSeconds: 180 };
    expect(wrong({ [path('udp_timeout')]: '30', [path('udp_timeout_stream')]: '180' }, { conntrack: udp })).toEqual([
      `${path('udp_timeout')}=10`,
    ]);
  });
});

test('clients may come by every interface with an address of its own, but not by those of pods, of Docker and of other proxies', () => {
  const addresses = [
    ['eth0', '10.0.0.1'],
    ['eth1', 'fe80::1'],
    ['eth2', '2001:db8::1'],
    ['wg0', '10.9.0.1'],
    ['cni0', '10.244.1.1'],
    ['veth1', '169.254.1.1'],
    ['docker0', '172.17.0.1'],
    ['kube-ipvs0', '10.96.0.1'],
  ] as const;
  const interfaces = addresses.map(([name, address]) => ({
    name,
    address,
    length: ['wg0', 'kube-ipvs0', 'veth1'].includes(name) ? 32 : 24,
  }));
  expect(entriesOf({ ...facts, interfaces, peerInterfaces: ['eth1'] })).toEqual(['eth0', 'eth1', 'eth2', 'wg0']);
});

describe('interfaces by which answers of endpoints come in', () => {
  const off = { 'net/ipv4/conf/cali1/forwarding': '0', 'net/ipv4/conf/eth0/forwarding': '1' };

  test('forward IPv4, after all other settings, and each interface is named once', () => {
    expect(wrong(off, { endpointInterfaces: ['cali1', 'eth0'] })).toEqual(['net/ipv4/conf/cali1/forwarding=1']);
    expect(requiredSettings({ ...facts, endpointInterfaces: ['cali1', 'eth0'] }).at(-1)?.path).toBe('net/ipv4/conf/cali1/forwarding');
    expect(wrong(off)).toEqual([]);
    expect(wrong(off, { families: [6], endpointInterfaces: ['cali1'] })).toEqual([]);
  });

  test('drop them, as the only uplink does, and one of several uplinks those of machines on its link', () => {
    const why = reason('KernelSettingWrong', { setting: '', value: '0', wanted: '1', why: '', error: '' });
    const notSet = new Map(['cali1', 'eth0', 'eth0.7'].map((name) => [`net/ipv4/conf/${name}/forwarding`, why]));
    const found = (uplinks: string[]) =>
      droppingAnswers(['cali1', 'eth0.7', 'sound'], uplinks, notSet).map((one) =>
        one.onLinkOnly === true ? `${one.interface} on its link` : one.interface,
      );
    expect(found(['eth0'])).toEqual(['eth0', 'cali1', 'eth0.7']);
    expect(found(['eth0', 'eth1'])).toEqual(['eth0 on its link', 'cali1', 'eth0.7']);
    expect(droppingAnswers(['eth0.7'], [], notSet)).toEqual([
      {
        interface: 'eth0.7',
        families: [4],
        why: 'eth0.7 drops what comes in by it, such as answers of endpoints, because net.ipv4.conf.eth0/7.forwarding is 0',
        remedy: 'sysctl -w net.ipv4.conf.eth0/7.forwarding=1',
      },
    ]);
  });
});
