import { describe, expect, test } from 'vitest';
import { prefix } from '../../../../src/net/prefix.ts';
import { hostFacts } from '../../../../src/agent/host/host-facts.ts';
import { limits } from '../../../../src/agent/limits.ts';
import { allowanceChain, type FilterRule, type HostFilter } from '../../../../src/net/host-filter.ts';
import { reasonText, remedyText } from '../../../../src/model/reasons.ts';
import type { HeraldObject } from '../../../../src/model/store/snapshot.ts';
import { Store } from '../../../../src/model/store/store.ts';
import type { HostInterface } from '../../../../src/system/host.ts';
import { cluster, config, node, peer, service } from '../../decisions/fixtures.ts';
import { basics, testbed, web, type Testbed, type TestbedOptions } from '../testbed.ts';

const beLiberal = 'net/netfilter/nf_conntrack_tcp_be_liberal';
const uplink: HostInterface = { name: 'eth0', address: '10.0.0.1', length: 24 };
const reported = (bed: Testbed): unknown[] => (bed.states.at(-1)?.host ?? []).map(({ code, details }) => [code, details]);

async function started(prepare: (bed: Testbed) => void = () => undefined, options: TestbedOptions = {}): Promise<Testbed> {
  const bed = testbed([...basics, ...web('a', ['192.0.2.1'])], options);
  prepare(bed);
  await bed.agent.start();
  await bed.advance(limits.reportPauseMilliseconds);
  return bed;
}

describe('kernel settings', () => {
  test('settings that are right are not written', async () => {
    const { host, ...bed } = await started();
    expect(host.written).toEqual([]);
    expect(bed.states.at(-1)).not.toHaveProperty('host');
  });

  test('wrong settings are corrected before the first commit', async () => {
    let writtenAtCommit: string[] | undefined;
    const bed = await started(({ host, dataplane }) => {
      host.settings.set('net/ipv4/ip_forward', '0');
      dataplane.answer = async () => void (writtenAtCommit ??= [...host.written]);
    });
    expect(writtenAtCommit).toEqual(['net/ipv4/ip_forward=1']);
    expect(reported(bed)).toEqual([]);
  });

  test('settings that cannot be written are reported with name, values and cause', async () => {
    const bed = await started(({ host }) => {
      host.settings.set(beLiberal, '0');
      host.refused.set(beLiberal, '/proc/sys is mounted read-only');
    });
    expect(reported(bed)).toEqual([
      [
        'KernelSettingWrong',
        {
          setting: 'net.netfilter.nf_conntrack_tcp_be_liberal',
          value: '0',
          wanted: '1',
          why: expect.stringContaining('outside of the TCP window') as string,
          error: '/proc/sys is mounted read-only',
        },
      ],
    ]);
  });

  test('settings that exist only with the rules are corrected after the first commit', async () => {
    const bed = await started(({ host, dataplane }) => {
      host.settings.delete(beLiberal);
      dataplane.answer = async () => void host.settings.set(beLiberal, '0');
    });
    expect(bed.host.written).toEqual([`${beLiberal}=1`]);
    expect(reported(bed)).toEqual([]);
  });

  test('settings that another program changes are corrected again', async () => {
    const bed = await started();
    bed.host.settings.set('net/ipv4/conf/eth0/rp_filter', '1');
    await bed.advance(limits.hostCheckMilliseconds);
    expect(bed.host.written).toEqual(['net/ipv4/conf/eth0/rp_filter=2']);
  });

  test('a change that the kernel reports is corrected at once', async () => {
    const bed = await started();
    bed.host.settings.set('net/ipv4/ip_forward', '0');
    bed.host.reportSettings();
    await bed.advance(0);
    expect(bed.host.written).toEqual(['net/ipv4/ip_forward=1']);
    expect(reported(bed)).toEqual([]);
  });

  test('a change that the kernel does not report is corrected after seconds', async () => {
    const bed = await started();
    bed.host.settings.set(beLiberal, '0');
    await bed.advance(limits.forwardingCheckMilliseconds);
    expect(bed.host.written).toEqual([`${beLiberal}=1`]);
  });

  test.each<[what: string, list: HostInterface[]]>([
    ['an interface that appears', [uplink, { name: 'eth1', address: '172.16.0.1', length: 24 }]],
    [
      'an address that an interface without one gets',
      [uplink, { name: 'eth1', address: 'fe80::1', length: 64 }, { name: 'eth1', address: '172.16.0.1', length: 24 }],
    ],
    ['an interface that takes the place of another', [{ name: 'eth1', address: '10.0.0.1', length: 24 }]],
  ])('the strict filter of a new uplink is corrected after seconds: %s', async (_, list) => {
    const bed = await started(({ host }) => {
      host.settings.set('net/ipv4/conf/eth1/rp_filter', '1').set('net/ipv4/conf/eth1/forwarding', '1');
      host.list = [uplink, ...list.filter(({ address }) => address.includes(':'))];
    });
    bed.host.list = list;
    bed.host.reportSettings();
    await bed.advance(limits.forwardingCheckMilliseconds);
    expect(bed.host.written).toEqual(['net/ipv4/conf/eth1/rp_filter=2']);
  });

  test('a program that keeps changing a setting is answered at most once in a pause', async () => {
    const bed = await started();
    for (let n = 0; n < 20; n++) {
      bed.host.settings.set('net/ipv4/ip_forward', '0');
      bed.host.reportSettings();
      await bed.advance(limits.settingPauseMilliseconds / 10);
    }
    expect(bed.host.written.length).toBeGreaterThanOrEqual(2);
    expect(bed.host.written.length).toBeLessThanOrEqual(3);
  });

  test('an agent that has stopped does not follow settings', async () => {
    const bed = await started();
    await bed.agent.stop('bye');
    bed.host.settings.set('net/ipv4/ip_forward', '0');
    bed.host.reportSettings();
    await bed.advance(limits.hostCheckMilliseconds);
    expect(bed.host.written).toEqual([]);
  });

  test('a reported setting is no longer reported once it is right', async () => {
    const bed = await started(({ host }) => {
      host.settings.set(beLiberal, '0');
      host.refused.set(beLiberal, 'not permitted');
    });
    expect(reported(bed)).toHaveLength(1);
    bed.host.settings.set(beLiberal, '1');
    await bed.advance(limits.hostCheckMilliseconds);
    await bed.advance(limits.reportPauseMilliseconds);
    expect(reported(bed)).toEqual([]);
  });

  test('IPv6 forwarding stays off if it would cost the host its default route', async () => {
    const ra = 'net/ipv6/conf/eth0/accept_ra';
    const forwarding = 'net/ipv6/conf/all/forwarding';
    const bed = await started(({ host }) => {
      host.advertised = ['eth0'];
      host.settings.set(ra, '1').set(forwarding, '0');
      host.refused.set(ra, 'not permitted');
    });
    expect(bed.host.settings.get(forwarding)).toBe('0');
    expect(reported(bed)).toMatchObject([
      ['KernelSettingWrong', { setting: 'net.ipv6.conf.eth0.accept_ra' }],
      ['KernelSettingWrong', { setting: 'net.ipv6.conf.all.forwarding' }],
    ]);
    bed.host.refused.clear();
    await bed.advance(limits.hostCheckMilliseconds);
    expect(bed.host.written).toEqual([`${ra}=2`, `${forwarding}=1`]);
  });

  test('settings that other programs may rely on are reported and not written', async () => {
    const bed = await started(({ host }) => void host.settings.set('net/ipv4/conf/all/route_localnet', '1'));
    expect(bed.host.written).toEqual([]);
    expect(reported(bed)).toMatchObject([['KernelSettingWrong', { setting: 'net.ipv4.conf.all.route_localnet', error: '' }]]);
  });

  test.each([
    ['kube-proxy (iptables)', 'RouteLocalnetOfKubeProxy', /^leave it .*--iptables-localhost-nodeports=false, then /],
    ['kube-proxy (nftables)', 'KernelSettingWrong', /^run on the node: sysctl -w net\.ipv4\.conf\.all\.route_localnet=0$/],
  ])('the fix of route_localnet beside the rules of %s keeps its NodePorts on localhost', async (program, code, fix) => {
    const bed = await started(({ host, foreign }) => {
      host.settings.set('net/ipv4/conf/all/route_localnet', '1');
      foreign.view = { seen: true, program, masqueradeBits: [14] };
    });
    const wrong = bed.states.at(-1)?.host?.find((one) => one.code !== 'KubeProxyBeside');
    expect(wrong?.code).toBe(code);
    expect(wrong && remedyText(wrong)).toMatch(fix);
  });
});

test('connection tracking is tuned in place of kube-proxy, and beside it if HeraldConfig says so', () => {
  const of = (more: object): unknown => {
    const store = new Store();
    store.upsert(config(more));
    return hostFacts(store, 'n1').conntrack;
  };
  expect(of({})).toMatchObject({ maxPerCore: 32_768, tcpCloseWaitSeconds: 3_600 });
  expect(of({ services: 'external' })).toBeUndefined();
  const own = { maxPerCore: 0, min: 0, tcpEstablishedSeconds: 7_200, tcpCloseWaitSeconds: 0, udpSeconds: 0, udpStreamSeconds: 0 };
  expect(of({ services: 'external', conntrack: own })).toEqual(own);
});

describe('the address families of a node', () => {
  test.each<[string, readonly HeraldObject[], readonly number[]]>([
    ['its own addresses', [node({ name: 'n1', internalIPs: ['fd00::1'] })], [6]],
    ['pods', [node({ name: 'n1', internalIPs: ['10.0.0.1'] }), node({ name: 'n2', podCIDRs: ['fd10::/64'] })], [4, 6]],
    ['Services', [service({ name: 'web', clusterIPs: ['fd96::1'] })], [6]],
    ['nothing', [], []],
  ])('families come from %s', (_, objects, families) => {
    const store = new Store();
    for (const object of objects) store.upsert(object);
    expect(new Set(hostFacts(store, 'n1').families)).toEqual(new Set(families));
  });
});

test('a local program on a NodePort is reported with the Service that owns the port, until it is gone', async () => {
  const bed = await started(({ host, source }) => {
    source.put(service({ name: 'np', clusterIPs: ['10.96.0.9'], type: 'NodePort', ports: ['80@30080'] }));
    host.sockets = [
      { protocol: 'TCP', address: '0.0.0.0', port: 30_080 },
      { protocol: 'TCP', address: '0.0.0.0', port: 30_081 },
    ];
  });
  expect(reported(bed)).toEqual([['NodePortListener', { protocol: 'TCP', port: 30_080, address: '0.0.0.0', service: 'default/np' }]]);
  bed.host.sockets = [];
  await bed.advance(limits.hostCheckMilliseconds);
  await bed.advance(limits.reportPauseMilliseconds);
  expect(reported(bed)).toEqual([]);
});

test('a local program on a port that a Service has at an address of the host is reported', async () => {
  const bed = await started(({ host, source }) => {
    const [own = ''] = host.addresses();
    for (const policy of cluster({ externalIPPolicies: [{ cidrs: ['0.0.0.0/0'] }] }).externalIPPolicies.values()) source.put(policy);
    source.put(service({ name: 'web', type: 'ClusterIP', clusterIPs: ['10.96.0.9'], externalIPs: [own], ports: ['6443'] }));
    host.sockets = [{ protocol: 'TCP', address: '0.0.0.0', port: 6443 }];
  });
  const [own = ''] = bed.host.addresses();
  expect(reported(bed)).toEqual([['OwnAddressListener', { protocol: 'TCP', port: 6443, address: own, service: 'default/web' }]]);
});

test('a table of connections that is nearly full is reported within seconds, until it has room again', async () => {
  const bed = await started();
  const codes = async (count: number): Promise<unknown[]> => {
    bed.host.settings.set('net/netfilter/nf_conntrack_count', String(count));
    await bed.advance(limits.forwardingCheckMilliseconds);
    await bed.advance(limits.reportPauseMilliseconds);
    return reported(bed);
  };
  expect(await codes(235_929)).toEqual([]);
  const nearlyFull = [['ConntrackNearlyFull', { reached: 90, cleared: 80, maximum: 262_144, wanted: 524_288 }]];
  expect(await codes(235_930)).toEqual(nearlyFull);
  const writes = bed.states.length;
  expect(await codes(262_144)).toEqual(nearlyFull);
  expect(await codes(209_716)).toEqual(nearlyFull);
  expect(bed.states).toHaveLength(writes);
  expect(await codes(209_715)).toEqual([]);
  expect(await codes(235_929)).toEqual([]);
});

test.each([
  ['no maximum', [['net/netfilter/nf_conntrack_max', '0']]],
  ['no settings', []],
] as const)('a table of connections with %s is not reported', async (_, maximum) => {
  const bed = await started(({ host }) => {
    const path = 'net/netfilter/nf_conntrack_max';
    host.refused.set(path, 'not permitted');
    host.settings.delete(path);
    host.settings.set('net/netfilter/nf_conntrack_count', '1000000');
    for (const [name, value] of maximum) host.settings.set(name, value);
  });
  expect(reported(bed).join()).not.toContain('ConntrackNearlyFull');
});

test('a NodePort that is not served on localhost is reported', async () => {
  const bed = await started(({ host }) => (host.unserved = [{ family: 6, port: 30_080, why: 'the port is in use' }]));
  expect(reported(bed)).toEqual([['LocalhostNodePortNotServed', { port: 30_080, family: 'IPv6', why: 'the port is in use' }]]);
});

test('podCIDRs of HeraldConfig without the pods of the node are reported, until they have them', async () => {
  const missed = ['PodCIDRsMissed', { node: 'n1', missed: 'fd00:244:1::/64', configured: '10.244.0.0/16, fd00:244::/48' }];
  const bed = await started(({ source }) => {
    source.put(node({ name: 'n1', internalIPs: ['10.0.0.1', 'fd00::1'], podCIDRs: ['10.244.1.0/24', 'fd00:244:1::/64'] }));
    source.put(config({ podCIDRs: ['10.244.0.0/16', 'fd00:244::/48'] }));
  });
  expect(reported(bed)).toEqual([missed]);
  bed.source.put(config({ podCIDRs: ['10.244.0.0/16', 'fd00:244::/32'] }));
  await bed.advance(limits.hostCheckMilliseconds);
  await bed.advance(limits.reportPauseMilliseconds);
  expect(reported(bed)).toEqual([]);
});

test('an assigned address in the network of the node that only BGP announces is reported', async () => {
  const bed = await started(({ host }) => (host.list = [{ name: 'eth0', address: '192.0.2.100', length: 24 }]));
  expect(reported(bed)).toMatchObject([['PoolUnansweredOnLink', { pool: 'main', network: '192.0.2.0/24', interface: 'eth0' }]]);
});

describe('filters of other programs', () => {
  const dropping: HostFilter = {
    hook: 'forward',
    priority: 0,
    backend: 'nft',
    family: 'inet',
    table: 'filter',
    chain: 'forward',
    policy: 'drop',
    chains: new Map(),
  };

  test('dropping filters are reported while they exist, also filters that appear later', async () => {
    const bed = await started(({ host }) => (host.filters = [dropping]));
    expect(reported(bed)).toMatchObject([['ForwardFilterDrops', { chain: 'forward of table inet filter', how: 'its policy is drop' }]]);
    bed.host.filters = [];
    await bed.advance(limits.hostCheckMilliseconds);
    await bed.advance(limits.reportPauseMilliseconds);
    expect(reported(bed)).toEqual([]);
  });

  describe('a rule that cannot be judged', () => {
    const odd = (text: string): HostFilter => ({
      ...dropping,
      policy: 'accept',
      chain: 'odd',
      chains: new Map([
        [
          'odd',
          [
            {
              packets: 'some',
              number: 1,
              text,
              action: { kind: 'drop' },
              conditions: [
                { field: 'destination', prefixes: [prefix('10.0.0.0/8')], negated: false },
                { field: 'other', looksAt: 'the mark' },
              ],
            },
          ],
        ],
      ]),
    });
    const sinceOf = (bed: Testbed): unknown[] =>
      (bed.states.at(-1)?.host ?? []).map(({ code, details }) => (code === 'FilterNotDecided' ? (details.since ?? 'always') : code));
    const check = async (bed: Testbed): Promise<void> => {
      await bed.advance(limits.hostCheckMilliseconds);
      await bed.advance(limits.reportPauseMilliseconds);
    };

    test('that was there before the agent has no beginning, and one that comes or changes has its time', async () => {
      const bed = await started(({ host }) => (host.filters = [odd('meta mark 1 drop')]));
      expect(sinceOf(bed)).toEqual(['always']);
      bed.host.filters = [odd('meta mark 2 drop')];
      await check(bed);
      const [since] = sinceOf(bed);
      expect(since).toMatch(/^\d{4}-\d\d-\d\dT[\d:]+Z$/);
      await check(bed);
      expect(sinceOf(bed)).toEqual([since]);
      bed.host.filters = [];
      await check(bed);
      expect(sinceOf(bed)).toEqual([]);
    });
  });

  test('a repaired filter is no problem any more after seconds', async () => {
    const bed = await started(({ host }) => (host.filters = [dropping]));
    bed.host.filters = [];
    await bed.advance(limits.forwardingCheckMilliseconds);
    await bed.advance(limits.reportPauseMilliseconds);
    expect(reported(bed)).toEqual([]);
  });

  test('filters that cannot be read are a problem with the error, and those that were read before stay one', async () => {
    const bed = await started(({ host }) => (host.filters = [dropping]));
    bed.host.filtersError = new Error('cannot run nft: spawn nft ENOENT');
    await bed.advance(limits.forwardingCheckMilliseconds);
    await bed.advance(limits.reportPauseMilliseconds);
    expect(reported(bed)).toMatchObject([
      ['FiltersUnread', {}],
      ['ForwardFilterDrops', {}],
    ]);
    expect(bed.states.at(-1)?.host?.map((one) => reasonText(one))).toEqual([
      'filters cannot be read: cannot run nft: spawn nft ENOENT. Filters that were read before are still reported, new ones are not',
      expect.stringContaining('chain forward of table inet filter drops the packets of Services'),
    ]);
    bed.host.filtersError = undefined;
    bed.host.filters = [];
    await bed.advance(limits.forwardingCheckMilliseconds);
    await bed.advance(limits.reportPauseMilliseconds);
    expect(reported(bed)).toEqual([]);
  });

  test('filters are changed before the first announcement where that is allowed, and again seconds after they were loaded again', async () => {
    const bed = await started(({ host }) => (host.filters = [dropping]), { filters: 'allow' });
    expect([bed.host.filterChanges, reported(bed)]).toEqual([1, []]);
    await bed.advance(limits.hostCheckMilliseconds);
    expect(bed.host.filterChanges).toBe(1);
    bed.host.filters = [dropping];
    await bed.advance(limits.forwardingCheckMilliseconds);
    await bed.advance(limits.reportPauseMilliseconds);
    expect([bed.host.filterChanges, reported(bed)]).toEqual([2, []]);
  });

  test('a filter that cannot be changed stays reported, and is tried again', async () => {
    const bed = await started(({ host }) => ([host.filters, host.filtersRefused] = [[dropping], ['not permitted']]), { filters: 'allow' });
    expect(reported(bed)).toMatchObject([['ForwardFilterDrops', {}]]);
    bed.host.filtersRefused = [];
    await bed.advance(limits.forwardingCheckMilliseconds);
    await bed.advance(limits.reportPauseMilliseconds);
    expect(reported(bed)).toEqual([]);
  });

  test('rules of an earlier agent are removed where changes are not allowed, also where Herald forwards nothing', async () => {
    const prepare = (more: readonly HeraldObject[]) => (bed: Testbed) => {
      const action = { kind: 'jump', chain: allowanceChain } as const;
      const jump = { packets: 'all', conditions: [], number: 1, text: 'jump', action } as const;
      bed.host.filters = [{ ...dropping, chains: new Map([['forward', [jump]]]) }];
      for (const object of more) bed.source.put(object);
    };
    expect((await started(prepare([]))).host.filterChanges).toBe(1);
    expect((await started(prepare([config({ services: 'none' })]), { filters: 'allow' })).host.filterChanges).toBe(1);
  });

  test("filters that drop health checks or a passive peer's connections are reported with the ports", async () => {
    const bed = await started(({ host, source }) => {
      host.filters = [{ ...dropping, hook: 'input', chain: 'input' }];
      source.put(service({ name: 'checked', clusterIPs: ['10.96.0.9'], externalTrafficPolicy: 'Local', healthCheckNodePort: 32_100 }));
    });
    const details = { chain: 'input of table inet filter', how: 'its policy is drop' };
    expect(reported(bed)).toMatchObject([['InputFilterDrops', { ...details, ports: '32100 (health check of default/checked)' }]]);
    bed.peers.listensOn = [179];
    bed.source.put(peer({ name: 'passive', peerAddress: '10.0.0.253', passive: true }));
    await bed.advance(limits.hostCheckMilliseconds);
    await bed.advance(limits.reportPauseMilliseconds);
    expect(reported(bed)).toMatchObject([
      ['InputFilterDrops', { ...details, ports: '179 (BGP of passive peers), 32100 (health check of default/checked)' }],
    ]);
  });

  test('a Service whose packets a filter drops is reported by name, as well as one that appears, until the filter changes', async () => {
    const conditions = [{ field: 'port', ranges: [{ first: 81, last: 81 }], negated: false }] as const;
    const accept: FilterRule = { packets: 'some', conditions, action: { kind: 'accept' }, number: 1, text: 'tcp dport 81 accept' };
    const selective: HostFilter = { ...dropping, chains: new Map([['forward', [accept]]]) };
    const differing = ({ states }: Testbed): unknown => states.at(-1)?.differing.map(({ service, reason: { code } }) => [service, code]);
    const bed = await started(({ host, source }) => {
      host.filters = [selective];
      // With pods to which other nodes pass connections.
      for (const name of ['n1', 'n2'])
        source.put(node({ name, internalIPs: ['10.0.0.1', 'fd00::1'], podCIDRs: ['10.244.1.0/24', 'fd00:244:1::/64'] }));
    });
    expect(differing(bed)).toEqual([['default/a', 'ServiceFiltered']]);
    for (const object of web('b', ['2001:db8:1::7'])) bed.source.put(object);
    await bed.advance(limits.filterCheckMilliseconds);
    await bed.advance(limits.reportPauseMilliseconds);
    expect(differing(bed)).toEqual(['a', 'b'].map((name) => [`default/${name}`, 'ServiceFiltered']));
    bed.host.filters = [{ ...selective, policy: 'accept' }];
    await bed.advance(limits.filterCheckMilliseconds);
    await bed.advance(limits.reportPauseMilliseconds);
    expect(differing(bed)).toEqual([]);
  });

  test('filters are no longer checked after the agent stops', async () => {
    const bed = await started();
    await bed.agent.stop('bye');
    expect(bed.clock.pending).toBe(0);
  });
});
