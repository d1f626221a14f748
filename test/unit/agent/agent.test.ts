import { afterEach, describe, expect, test, vi } from 'vitest';
import { DataplaneError } from '../../../src/dataplane/dataplane.ts';
import type { ExternalIPPolicy } from '../../../src/model/kinds/types.ts';
import { address, formatAddress } from '../../../src/net/address.ts';
import { prefix } from '../../../src/net/prefix.ts';
import { silentLog } from '../../../src/system/log.ts';
import { advertisement, config, matching, metadata, node, peer, pool, service, slice } from '../decisions/fixtures.ts';
import { basics, changed, gate, testbed, web, type Testbed } from './testbed.ts';

let bed: Testbed | undefined;

async function start(...objects: Parameters<typeof testbed>[0]): Promise<Testbed> {
  bed = testbed([...basics, ...objects]);
  await bed.agent.start();
  await bed.settle();
  return bed;
}

async function started(...objects: Parameters<typeof testbed>[0]): Promise<Testbed> {
  const bed = await start(...objects);
  bed.takeLog();
  return bed;
}

afterEach(async () => {
  const last = bed;
  bed = undefined;
  if (last === undefined || last.dataplane.closed) return;
  last.dataplane.answer = async () => undefined;
  await last.agent.stop('the test is over');
  expect(last.clock.pending, 'timers that are left').toBe(0);
});

const differing = ({ states }: Testbed): string[] =>
  (states.at(-1)?.differing ?? []).map(({ service, aspect, reason }) => `${service} ${aspect} ${reason.code}`);

describe('a pass', () => {
  test('the agent starts with the kernel, then old unreachable routes, then sessions with all their routes', async () => {
    const bed = await start(...web('a', ['192.0.2.1', '2001:db8:1::1']));
    expect(bed.takeLog()).toEqual([
      'node 10.0.0.1 fd00::1',
      '+192.0.2.1 TCP 80',
      '+2001:db8:1::1 TCP 80',
      'unreachable',
      'open tor1',
      'announce 192.0.2.1/32 to tor1',
      'announce 2001:db8:1::1/128 to tor1',
    ]);
  });

  test.each([
    ['192.0.2.1', '192.0.2.1/32', '80'],
    ['2001:db8:1::1', '2001:db8:1::1/128', '80'],
    ['192.0.2.1', '192.0.2.1/32', '53/UDP'],
    ['2001:db8:1::1', '2001:db8:1::1/128', '53/UDP'],
  ])('the agent announces %s only after the commit of its frontend (%s, port %s)', async (ip, route, port) => {
    const bed = await started();
    const kernel = gate();
    bed.dataplane.answer = kernel.wait;
    bed.source.put(...web('a', [ip], { ports: [port] }));
    await bed.settle();
    expect(bed.takeLog()).toEqual([]);
    kernel.open();
    await bed.settle();
    const [number, protocol = 'TCP'] = port.split('/');
    expect(bed.takeLog()).toEqual([`+${ip} ${protocol} ${number}`, `announce ${route} to tor1`]);
  });

  test('the agent withdraws routes before the commit that removes the rules', async () => {
    const bed = await started(...web('a', ['192.0.2.1']), config({ drainSeconds: 0 }));
    const kernel = gate();
    bed.dataplane.answer = kernel.wait;
    for (const object of web('a', ['192.0.2.1'])) bed.source.remove(object);
    await bed.settle();
    expect(bed.takeLog()).toEqual(['withdraw 192.0.2.1/32 to tor1']);
    kernel.open();
    await bed.settle();
    expect(bed.takeLog()).toEqual(['-192.0.2.1 TCP 80']);
  });

  test('a drained Service is withdrawn, keeps its rules, and is announced again afterwards', async () => {
    const objects = web('a', ['192.0.2.1']);
    const bed = await started(...objects, config({ drainSeconds: 0 }));
    const drained = objects.find(({ kind }) => kind === 'Service');
    bed.source.put(changed(drained, { drain: true }));
    await bed.settle();
    expect(bed.takeLog()).toEqual(['withdraw 192.0.2.1/32 to tor1', '+192.0.2.1 TCP 80']);
    bed.source.put(...objects);
    await bed.settle();
    expect(bed.takeLog()).toEqual(['+192.0.2.1 TCP 80', 'announce 192.0.2.1/32 to tor1']);
  });

  test('HeraldConfig stops the announcement of ClusterIPs, except for Services that ask for it', async () => {
    const objects = [
      ...web('a', ['192.0.2.1'], { clusterIPs: ['10.96.0.1'] }),
      ...web('b', ['192.0.2.2'], { clusterIPs: ['10.96.0.2'], advertiseClusterIP: true }),
    ];
    const bed = await started(...objects, advertisement({ name: 'all', addressTypes: ['ClusterIP'] }), config());
    bed.source.put(config({ advertiseClusterIPs: false }));
    await bed.settle();
    expect(bed.takeLog().filter((line) => /announce|withdraw/.test(line))).toEqual(['withdraw 10.96.0.1/32 to tor1']);
  });

  test('changes during a commit are part of the next pass, each Service once', async () => {
    const bed = await started();
    const kernel = gate();
    bed.dataplane.answer = kernel.wait;
    bed.dataplane.calls.length = 0;
    bed.source.put(...web('a', ['192.0.2.1']));
    bed.source.put(...web('b', ['192.0.2.2']), ...web('c', ['192.0.2.3']));
    for (const object of web('b', ['192.0.2.2'])) bed.source.remove(object);
    kernel.open();
    await bed.settle();
    expect(bed.dataplane.calls).toEqual([['default/a'], ['default/b', 'default/c']].map((keys) => expect.arrayContaining(keys)));
    expect(bed.takeLog().filter((line) => line.startsWith('announce'))).toEqual([
      'announce 192.0.2.1/32 to tor1',
      'announce 192.0.2.3/32 to tor1',
    ]);
  });

  test('one changed Service among a thousand is one Service for the data plane', async () => {
    const many = Array.from({ length: 1000 }, (_, i) =>
      web(`s${i}`, [i % 2 === 0 ? `192.0.2.${(i >> 1) % 256}` : `2001:db8:1::${(i % 256).toString(16)}`], {
        ports: [`${1000 + i}`],
        sharingKey: 'k',
      }),
    );
    const bed = await started(...many.flat());
    expect(bed.dataplane.calls.map((services) => services.length)).toEqual([1000]);
    const { told } = bed.peers;
    bed.source.put(changed(many[500]?.[0], { externalTrafficPolicy: 'Local' }));
    await bed.settle();
    expect(bed.dataplane.calls.slice(1)).toEqual([['default/s500']]);
    expect(bed.peers.told - told, 'its one route, before and after the commit').toBeLessThanOrEqual(3);
  });

  test('a change of another node affects no Service, a change of our labels may affect all', async () => {
    const bed = await started(...web('a', ['192.0.2.1']));
    bed.source.put(node({ name: 'n2', podCIDRs: ['10.2.0.0/24'] }));
    await bed.settle();
    expect(bed.dataplane.calls.at(-1)).toEqual([]);
    expect(bed.takeLog()).toEqual(['node 10.0.0.1 fd00::1']);
    bed.source.put(node({ name: 'n1', labels: { 'node.kubernetes.io/exclude-from-external-load-balancers': '' } }));
    await bed.settle();
    expect(bed.takeLog()[0]).toBe('withdraw 192.0.2.1/32 to tor1');
  });
});

describe('quarantine', () => {
  test('a route is held back, with a reason, while no frontend of its address works', async () => {
    const bed = await started();
    bed.dataplane.refused.add('192.0.2.1 TCP 80').add('192.0.2.1 TCP 443');
    bed.source.put(...web('a', ['192.0.2.1', '2001:db8:1::1'], { ports: ['http:80', 'https:443'] }));
    await bed.advance(100);
    // The retry commits the refused frontends again.
    expect([...new Set(bed.takeLog())]).toEqual(['+2001:db8:1::1 TCP 443', '+2001:db8:1::1 TCP 80', 'announce 2001:db8:1::1/128 to tor1']);
    expect(differing(bed)).toEqual([
      'default/a Programmed FrontendQuarantined',
      'default/a Programmed FrontendQuarantined',
      'default/a Announced NotProgrammed',
    ]);
    // The answer to the commit of any other Service may end the quarantine.
    bed.dataplane.refused.delete('192.0.2.1 TCP 443');
    bed.source.put(...web('other', ['192.0.2.9']));
    await bed.advance(100);
    expect(bed.takeLog()).toEqual(expect.arrayContaining(['+192.0.2.1 TCP 443', 'announce 192.0.2.1/32 to tor1']));
    expect(differing(bed)).toEqual(['default/a Programmed FrontendQuarantined']);
    bed.dataplane.refused.clear();
    bed.source.remove(service({ name: 'other' }));
    await bed.advance(100);
    expect(differing(bed)).toEqual([]);
  });

  test('the agent logs a failure of the data plane in one line, without a stack trace', async () => {
    const bed = testbed([...basics, ...web('web', ['192.0.2.1'])]);
    const logged = vi.spyOn(silentLog, 'error');
    bed.dataplane.failure = new DataplaneError('permission', 'listing: operation not permitted');
    await bed.agent.start();
    await bed.settle();
    const fields = logged.mock.calls.find(([, message]) => message === 'the data plane took no change')?.[0];
    logged.mockRestore();
    expect(fields).toMatchObject({ error: 'listing: operation not permitted' });
  });

  test('the agent retries frontends that the kernel refused, although nothing changes', async () => {
    const bed = await started();
    bed.dataplane.refused.add('192.0.2.1 TCP 80');
    bed.source.put(...web('a', ['192.0.2.1']));
    await bed.advance(100);
    const calls = bed.dataplane.calls.length;
    for (let second = 0; second < 40; second++) await bed.advance(1_000);
    // The first retry comes after 100 ms; then the delay doubles.
    expect(bed.dataplane.calls.length - calls).toBeGreaterThan(5);
    expect(bed.dataplane.calls.length - calls).toBeLessThan(12);
    bed.dataplane.refused.clear();
    for (let second = 0; second < 40; second++) await bed.advance(1_000);
    expect(bed.takeLog()).toEqual(['+192.0.2.1 TCP 80', 'announce 192.0.2.1/32 to tor1']);
    expect(differing(bed)).toEqual([]);
    const settled = bed.dataplane.calls.length;
    for (let second = 0; second < 40; second++) await bed.advance(1_000);
    expect(bed.dataplane.calls.length).toBe(settled);
  });

  test('a route is withdrawn when the kernel refuses the new form of its last frontend', async () => {
    const bed = await started(...web('a', ['192.0.2.1']), config({ drainSeconds: 0 }));
    bed.dataplane.refused.add('192.0.2.1 TCP 81');
    bed.source.put(...web('a', ['192.0.2.1'], { ports: ['81'] }));
    await bed.settle();
    expect(bed.takeLog()).toEqual(['-192.0.2.1 TCP 80', 'withdraw 192.0.2.1/32 to tor1']);
  });

  test('a sharer that takes the port of another has no frontend and no route, and the other one keeps both', async () => {
    const sharer = (name: string, port: string): ReturnType<typeof web> =>
      web(name, ['192.0.2.1'], { sharingKey: 'k', ports: [port], recordedTerms: `key "k", ports ${port}/TCP` });
    const bed = await started(...sharer('a', '80'), ...sharer('b', '443'), config({ drainSeconds: 0 }));
    bed.source.put(changed(sharer('a', '443')[0], { recordedTerms: 'key "k", ports 80/TCP' }));
    await bed.advance(100);
    expect(bed.takeLog().filter((line) => !line.startsWith('+'))).toEqual(['-192.0.2.1 TCP 80']);
    expect(bed.peers.tables.get('tor1')).toEqual(new Set(['192.0.2.1/32']));
    expect(differing(bed)).toEqual([]);
  });

  test("a Service that wants the frontend of another leaves that one's route alone and gets it afterwards", async () => {
    const external = { ingress: [], externalIPs: [address('192.0.2.1')], advertiseExternalIPs: true };
    const sharing = (name: string): ReturnType<typeof web> =>
      web(name, ['192.0.2.1']).map((object) => (object.kind === 'Service' ? changed(object, external) : object));
    const policy: ExternalIPPolicy = {
      kind: 'ExternalIPPolicy',
      metadata: metadata('all'),
      cidrs: [prefix('192.0.2.0/24')],
      namespaceSelector: matching({}),
    };
    const bed = await started(
      ...sharing('a'),
      policy,
      advertisement({ name: 'external', addressTypes: ['ExternalIP'] }),
      config({ drainSeconds: 0 }),
    );
    bed.source.put(...sharing('b'), ...sharing('c'));
    await bed.settle();
    bed.source.put(changed(sharing('a')[0], { affinitySeconds: 10 }));
    await bed.advance(100);
    expect(bed.takeLog().filter((line) => !line.startsWith('+'))).toEqual([]);
    expect(differing(bed)).toContain('default/b Programmed FrontendTaken');
    expect(differing(bed)).toContain('default/b Announced NotProgrammed');
    expect(differing(bed)).toContain('default/c Announced NotProgrammed');
    expect(differing(bed).filter((text) => text.startsWith('default/a'))).toEqual([]);
    for (const object of sharing('a')) bed.source.remove(object);
    await bed.settle();
    expect(bed.takeLog()).toEqual(['withdraw 192.0.2.1/32 to tor1', '+192.0.2.1 TCP 80', 'announce 192.0.2.1/32 to tor1']);
    for (const object of sharing('b')) bed.source.remove(object);
    await bed.advance(100);
    expect(bed.peers.tables.get('tor1')).toEqual(new Set(['192.0.2.1/32']));
    expect(differing(bed)).toEqual([]);
  });
});

describe('lost rules', () => {
  test('a failed repair withdraws every route with a reason; after a successful one all are announced again', async () => {
    const bed = await started(...web('a', ['192.0.2.1']), ...web('b', ['2001:db8:1::2']));
    bed.dataplane.failure = new DataplaneError('failed', 'no');
    bed.dataplane.lose(bed.dataplane.failure);
    await bed.settle();
    expect(bed.takeLog().toSorted()).toEqual(['withdraw 192.0.2.1/32 to tor1', 'withdraw 2001:db8:1::2/128 to tor1']);
    await bed.advance(100);
    expect(bed.states.at(-1)?.problem).toEqual({ code: 'DataPlaneFailed', details: { error: 'no' } });
    bed.dataplane.failure = undefined;
    await bed.advance(1_000);
    expect(bed.peers.tables.get('tor1')).toEqual(new Set(['192.0.2.1/32', '2001:db8:1::2/128']));
    await bed.advance(100);
    expect(bed.states.at(-1)).not.toHaveProperty('problem');
  });
});

test('a report marks its list as truncated when more Services differ than it lists', async () => {
  const many = Array.from({ length: 101 }, (_, index) => web(`s${index}`, [`192.0.2.${index + 1}`])).flat();
  const bed = testbed([...basics, ...many]);
  for (let index = 0; index < 101; index++) bed.dataplane.refused.add(`192.0.2.${index + 1} TCP 80`);
  await bed.agent.start();
  await bed.advance(100);
  expect(bed.states.at(-1)).toMatchObject({ truncated: true });
  expect(bed.states.at(-1)?.differing).toHaveLength(100);
});

describe('draining', () => {
  test('an address that moves to a waiting Service is announced only after its old frontends are gone', async () => {
    const old = web('a', ['192.0.2.1']);
    const bed = await started(...old, config({ drainSeconds: 10 }));
    bed.source.put(...web('b', ['192.0.2.1'], { ports: ['x:80', 'y:443'] }));
    await bed.settle();
    for (const object of old) bed.source.remove(object);
    await bed.settle();
    expect(bed.peers.tables.get('tor1')).toEqual(new Set(['192.0.2.1/32']));
    expect(bed.dataplane.kernel.get('192.0.2.1 TCP 80')?.service).toBe('default/b');
    expect(bed.dataplane.kernel.get('192.0.2.1 TCP 443')?.service).toBe('default/b');
  });

  const objects = web('a', ['192.0.2.1', '2001:db8:1::1'], { ports: ['80@30080'], clusterIPs: ['10.96.0.7', 'fd96::7'] });

  async function gone(): Promise<Testbed> {
    const bed = await started(...objects, config({ drainSeconds: 10 }));
    for (const object of objects) bed.source.remove(object);
    await bed.settle();
    expect(bed.takeLog()).toEqual(
      expect.arrayContaining([
        'withdraw 192.0.2.1/32 to tor1',
        'withdraw 2001:db8:1::1/128 to tor1',
        '-10.96.0.7 TCP 80',
        '-fd96::7 TCP 80',
        '-NodePort IPv4 TCP 30080',
        '-NodePort IPv6 TCP 30080',
      ]),
    );
    expect([...bed.dataplane.kernel.keys()]).toEqual(['192.0.2.1 TCP 80', '2001:db8:1::1 TCP 80']);
    return bed;
  }

  test('draining ends at once when another Service has the address', async () => {
    const bed = await gone();
    bed.source.put(...web('b', ['192.0.2.1', '2001:db8:1::1']));
    await bed.settle();
    expect(bed.peers.tables.get('tor1')).toEqual(new Set(['192.0.2.1/32', '2001:db8:1::1/128']));
    expect(differing(bed)).toEqual([]);
    await bed.advance(10_000);
    expect([...bed.dataplane.kernel.keys()].toSorted()).toEqual(expect.arrayContaining(['192.0.2.1 TCP 80', '2001:db8:1::1 TCP 80']));
  });

  test('draining ends for another Service even if the data plane takes the change only at the second attempt', async () => {
    const bed = await gone();
    bed.dataplane.failure = new DataplaneError('failed', 'not now');
    bed.source.put(...web('b', ['192.0.2.1', '2001:db8:1::1']));
    await bed.settle();
    bed.dataplane.failure = undefined;
    await bed.advance(100);
    expect([...bed.dataplane.desired.keys()]).toEqual(['default/b']);
  });

  test('announced frontends drain for drainSeconds; NodePorts and ClusterIPs end at once', async () => {
    const bed = await gone();
    await bed.advance(9_999);
    expect(bed.takeLog()).toEqual([]);
    await bed.advance(1);
    expect(bed.takeLog()).toEqual(['-192.0.2.1 TCP 80', '-2001:db8:1::1 TCP 80']);
    expect(bed.dataplane.desired.size).toBe(0);
  });

  test('draining frontends keep their backends', async () => {
    const bed = await gone();
    expect(bed.dataplane.kernel.get('192.0.2.1 TCP 80')?.frontend.backends).toHaveLength(1);
  });

  test('a backend that ends during the drain is removed, the others stay', async () => {
    const ends = (...endpoints: string[]) => slice({ service: 'a', name: 'a-4', ports: ['80'], endpoints });
    const [web4] = web('a', ['192.0.2.1']);
    if (web4 === undefined) throw new Error('no Service');
    const bed = await started(web4, ends('10.1.0.1', '10.1.0.2'), config({ drainSeconds: 10 }));
    const backends = (): string[] | undefined =>
      bed.dataplane.kernel.get('192.0.2.1 TCP 80')?.frontend.backends.map(({ address }) => formatAddress(address));
    bed.source.put(changed(web4, { ingress: [] }));
    await bed.settle();
    expect(backends()).toEqual(['10.1.0.1', '10.1.0.2']);
    bed.source.put(ends('10.1.0.2'));
    await bed.settle();
    expect(backends()).toEqual(['10.1.0.2']);
    bed.source.put(ends('10.1.0.2 notready'));
    await bed.settle();
    expect(backends()).toEqual([]);
  });

  test('a Service that returns during the drain is announced again and stays', async () => {
    const bed = await gone();
    await bed.advance(5_000);
    bed.source.put(...objects);
    await bed.settle();
    expect(bed.takeLog()).toContain('announce 192.0.2.1/32 to tor1');
    await bed.advance(20_000);
    expect(bed.takeLog().filter((line) => line.startsWith('-') || line.startsWith('withdraw'))).toEqual([]);
    expect(bed.dataplane.kernel.size).toBe(6);
  });

  test('a removed port drains too while its address stays, without a withdrawal', async () => {
    const bed = await started(...web('a', ['192.0.2.1'], { ports: ['a:80', 'b:81/UDP'] }), config({ drainSeconds: 10 }));
    bed.source.put(...web('a', ['192.0.2.1'], { ports: ['a:80'] }));
    await bed.advance(9_999);
    expect(bed.takeLog().filter((line) => !line.startsWith('+'))).toEqual([]);
    await bed.advance(1);
    expect(bed.takeLog()).toContain('-192.0.2.1 UDP 81');
  });

  test('frontends that were never announced end at once', async () => {
    const bed = await started(...web('a', ['198.51.100.1']));
    for (const object of web('a', ['198.51.100.1'])) bed.source.remove(object);
    await bed.settle();
    expect(bed.takeLog()).toEqual(['-198.51.100.1 TCP 80']);
  });
});

describe('a failing data plane', () => {
  const failure = new DataplaneError('permission', 'not permitted');

  test('nothing is announced from the start; the agent retries with back-off and recovers', async () => {
    const bed = testbed([...basics, ...web('a', ['192.0.2.1']), ...web('b', ['2001:db8:1::2'])]);
    bed.dataplane.failure = failure;
    await bed.agent.start();
    await bed.advance(99);
    expect(bed.dataplane.attempts).toBe(1);
    expect(bed.takeLog()).toEqual([]);
    expect(bed.states.at(-1)?.problem?.code).toBe('DataPlaneNotPermitted');
    expect(differing(bed)).toEqual([]);
    for (const [milliseconds, attempts] of [
      [1, 2],
      [199, 2],
      [1, 3],
      [399, 3],
      [1, 4],
    ] as const) {
      await bed.advance(milliseconds);
      expect(bed.dataplane.attempts).toBe(attempts);
    }
    bed.dataplane.failure = undefined;
    await bed.advance(800);
    expect(bed.peers.tables.get('tor1')).toEqual(new Set(['192.0.2.1/32', '2001:db8:1::2/128']));
    await bed.advance(100);
    expect(differing(bed)).toEqual([]);
    expect(bed.dataplane.calls.at(-1)).toHaveLength(2);
    await bed.agent.stop('');
    expect(bed.clock.pending).toBe(0);
  });

  test('the delay between retries grows to half a minute, and starts small again after a success', async () => {
    const bed = await started();
    bed.dataplane.failure = failure;
    bed.source.put(...web('a', ['192.0.2.1']));
    await bed.settle();
    for (let i = 0; i < 20; i++) await bed.advance(30_000);
    const { attempts } = bed.dataplane;
    await bed.advance(29_999);
    expect(bed.dataplane.attempts).toBe(attempts);
    bed.dataplane.failure = undefined;
    await bed.advance(1);
    bed.dataplane.failure = failure;
    bed.source.put(...web('b', ['192.0.2.2']));
    await bed.settle();
    bed.dataplane.failure = undefined;
    bed.takeLog();
    await bed.advance(100);
    expect(bed.takeLog()).toContain('announce 192.0.2.2/32 to tor1');
  });

  test('changed and removed sessions do not wait for the data plane; no new session starts', async () => {
    const bed = await started(peer({ name: 'tor2', peerAddress: '10.0.0.253' }), ...web('a', ['192.0.2.1']));
    bed.dataplane.failure = failure;
    bed.source.put(...web('b', ['192.0.2.2']));
    await bed.settle();
    const { attempts } = bed.dataplane;
    bed.takeLog();
    bed.source.put(peer({ name: 'tor1', dualStackAddressFamily: true, adminDown: true }));
    await bed.settle();
    expect(bed.peers.down).toEqual(new Set(['tor1']));
    bed.source.remove(peer({ name: 'tor2' }));
    bed.source.put(peer({ name: 'tor3', peerAddress: '10.0.0.252' }));
    await bed.settle();
    expect(bed.takeLog()).toContain('close tor2');
    expect([...bed.peers.tables.keys()]).toEqual(['tor1']);
    expect(bed.dataplane.attempts).toBe(attempts);
    bed.dataplane.failure = undefined;
    await bed.advance(30_000);
    expect([...bed.peers.tables.keys()]).toEqual(['tor1', 'tor3']);
  });

  test('a node drain starts, settles and withdraws its routes without the data plane', async () => {
    const bed = await started(...web('a', ['192.0.2.1']), config({ nodeDrain: { settleSeconds: 10, deadlineSeconds: 60 } }));
    bed.dataplane.failure = failure;
    bed.source.put(...web('b', ['192.0.2.2']));
    for (let i = 0; i < 20; i++) await bed.advance(30_000);
    const { attempts } = bed.dataplane;
    bed.source.put(node({ name: 'n1', internalIPs: ['10.0.0.1', 'fd00::1'], drain: 'force' }));
    await bed.advance(9_999);
    expect(bed.peers.tables.get('tor1')).toEqual(new Set(['192.0.2.1/32']));
    await bed.advance(1);
    expect(bed.peers.tables.get('tor1')).toEqual(new Set());
    expect(bed.dataplane.attempts).toBe(attempts);
  });

  test('later changes wait with the rest, but unwanted routes are withdrawn at once', async () => {
    const bed = await started(...web('a', ['192.0.2.1']), ...web('b', ['192.0.2.2']), config({ drainSeconds: 5 }));
    bed.dataplane.failure = failure;
    bed.source.put(...web('c', ['192.0.2.3']));
    await bed.settle();
    const { attempts } = bed.dataplane;
    for (const object of web('a', ['192.0.2.1'])) bed.source.remove(object);
    bed.source.put(...web('d', ['192.0.2.4']));
    await bed.settle();
    expect(bed.takeLog()).toEqual(['withdraw 192.0.2.1/32 to tor1']);
    expect(bed.dataplane.attempts, 'changes do not hasten the next attempt').toBe(attempts);
    bed.dataplane.failure = undefined;
    await bed.advance(100);
    expect(bed.takeLog()).toEqual([
      '+192.0.2.1 TCP 80',
      '+192.0.2.3 TCP 80',
      '+192.0.2.4 TCP 80',
      'announce 192.0.2.3/32 to tor1',
      'announce 192.0.2.4/32 to tor1',
    ]);
    await bed.advance(5_000);
    expect(bed.takeLog()).toEqual(['-192.0.2.1 TCP 80']);
    bed.source.put(...web('e', ['192.0.2.5']));
    await bed.settle();
    expect(bed.takeLog(), 'the next change waits for no timer').toHaveLength(2);
  });

  test('a Service that changes several times meanwhile ends in its latest form', async () => {
    const bed = await started();
    bed.dataplane.failure = failure;
    bed.source.put(...web('a', ['192.0.2.1']));
    await bed.settle();
    bed.source.put(...web('a', ['192.0.2.2']));
    await bed.settle();
    bed.dataplane.failure = undefined;
    await bed.advance(100);
    expect(bed.peers.tables.get('tor1')).toEqual(new Set(['192.0.2.2/32']));
    expect([...bed.dataplane.kernel.keys()]).toEqual(['192.0.2.2 TCP 80']);
  });
});

describe('shared addresses and prefixes', () => {
  test('a route stays when one of two Services with its address is deleted', async () => {
    const both = { a: web('a', ['192.0.2.1'], { sharingKey: 'k' }), b: web('b', ['192.0.2.1'], { sharingKey: 'k', ports: ['53/UDP'] }) };
    const bed = await started(...both.a, ...both.b, config({ drainSeconds: 0 }));
    for (const object of both.a) bed.source.remove(object);
    await bed.settle();
    expect(bed.takeLog()).toEqual(['-192.0.2.1 TCP 80']);
    for (const object of both.b) bed.source.remove(object);
    await bed.settle();
    expect(bed.takeLog()).toEqual(['withdraw 192.0.2.1/32 to tor1', '-192.0.2.1 UDP 53']);
  });

  test('only one of two Services with the same unshared address has it; the other follows after its deletion', async () => {
    const bed = await started(...web('b', ['192.0.2.1']), config({ drainSeconds: 0 }));
    bed.source.put(...web('a', ['192.0.2.1'], { ports: ['53/UDP'] }));
    await bed.settle();
    expect(bed.takeLog().toSorted()).toEqual([
      '+192.0.2.1 UDP 53',
      '-192.0.2.1 TCP 80',
      'announce 192.0.2.1/32 to tor1',
      'withdraw 192.0.2.1/32 to tor1',
    ]);
    for (const object of web('a', ['192.0.2.1'])) bed.source.remove(object);
    await bed.settle();
    expect(bed.takeLog()).toContain('+192.0.2.1 TCP 80');
    expect(bed.peers.tables.get('tor1')).toEqual(new Set(['192.0.2.1/32']));
  });

  const aggregates = advertisement({ name: 'all', aggregationLength: 25, aggregationLengthV6: 121 });

  test('an aggregate has its unreachable route before it is announced and until it is withdrawn', async () => {
    const bed = await started(aggregates, config({ drainSeconds: 0 }));
    bed.source.put(...web('a', ['192.0.2.1', '2001:db8:1::1']));
    await bed.settle();
    expect(bed.takeLog().slice(2)).toEqual([
      'unreachable 192.0.2.0/25 2001:db8:1::/121',
      'announce 192.0.2.0/25 to tor1',
      'announce 2001:db8:1::/121 to tor1',
    ]);
    bed.source.put(...web('b', ['192.0.2.2']), ...web('c', ['192.0.2.200']));
    await bed.settle();
    expect(bed.takeLog().filter((line) => !line.startsWith('+'))).toEqual([
      'unreachable 192.0.2.0/25 192.0.2.128/25 2001:db8:1::/121',
      'announce 192.0.2.128/25 to tor1',
    ]);
    for (const object of [...web('a', ['192.0.2.1', '2001:db8:1::1']), ...web('c', ['192.0.2.200'])]) bed.source.remove(object);
    await bed.settle();
    const log = bed.takeLog();
    expect(log.indexOf('withdraw 192.0.2.128/25 to tor1')).toBeLessThan(log.indexOf('unreachable 192.0.2.0/25'));
    expect(log.indexOf('withdraw 192.0.2.128/25 to tor1')).toBeGreaterThanOrEqual(0);
    expect(bed.dataplane.unreachable).toEqual(['192.0.2.0/25']);
  });

  test('two addresses of one Service in one aggregate leave no route behind', async () => {
    const bed = await started(aggregates, ...web('a', ['192.0.2.1', '192.0.2.2']), config({ drainSeconds: 0 }));
    expect(bed.dataplane.unreachable).toEqual(['192.0.2.0/25']);
    for (const object of web('a', ['192.0.2.1', '192.0.2.2'])) bed.source.remove(object);
    await bed.settle();
    expect(bed.dataplane.unreachable).toEqual([]);
  });

  test('an aggregate that enters quarantine is withdrawn before its unreachable route is removed', async () => {
    const bed = await started(aggregates, ...web('a', ['192.0.2.1']), config({ drainSeconds: 0 }));
    bed.dataplane.refused.add('192.0.2.1 TCP 81');
    bed.source.put(...web('a', ['192.0.2.1'], { ports: ['81'] }));
    await bed.settle();
    expect(bed.takeLog()).toEqual(['-192.0.2.1 TCP 80', 'withdraw 192.0.2.0/25 to tor1', 'unreachable']);
  });

  const hosts = [pool({ name: 'hosts', addresses: ['198.51.100.0/24'] }), advertisement({ name: 'hosts', ipAddressPools: ['hosts'] })];

  test('an aggregate waits for its unreachable route, and nothing else waits with it', async () => {
    const bed = await started({ ...aggregates, ipAddressPools: ['main'] }, ...hosts, ...web('a', ['192.0.2.1']));
    bed.dataplane.unreachableFailure = new DataplaneError('failed', 'no routes today');
    bed.source.put(...web('b', ['192.0.2.200']), ...web('c', ['198.51.100.1']));
    await bed.settle();
    expect(bed.peers.tables.get('tor1')).toEqual(new Set(['192.0.2.0/25', '198.51.100.1/32']));
    // A later change is not held back by the retry either.
    bed.source.put(...web('d', ['198.51.100.2']));
    await bed.settle();
    expect(bed.peers.tables.get('tor1')).toContain('198.51.100.2/32');
    await bed.advance(50);
    expect(differing(bed)).toEqual(['default/b Announced UnreachableRouteMissing']);
    expect(bed.states.at(-1)?.problem).toBeUndefined();
    bed.dataplane.unreachableFailure = undefined;
    await bed.advance(30_000);
    expect(bed.peers.tables.get('tor1')).toContain('192.0.2.128/25');
    await bed.advance(50);
    expect(differing(bed)).toEqual([]);
    expect(bed.takeLog().filter((line) => line.startsWith('withdraw'))).toEqual([]);
  });

  test('an aggregate whose unreachable route is refused does not hold back another aggregate', async () => {
    const bed = await started(aggregates);
    bed.dataplane.unreachableRefused.add('192.0.2.0/25');
    bed.source.put(...web('a', ['192.0.2.1', '2001:db8:1::1']), ...web('b', ['192.0.2.200']));
    await bed.settle();
    expect(bed.peers.tables.get('tor1')).toEqual(new Set(['192.0.2.128/25', '2001:db8:1::/121']));
    bed.dataplane.unreachableRefused.clear();
    await bed.advance(30_000);
    expect(bed.peers.tables.get('tor1')).toContain('192.0.2.0/25');
  });

  test('a Service whose rules are lost while the unreachable route is set is not announced', async () => {
    const bed = await started(aggregates);
    const kernel = gate();
    const { dataplane } = bed;
    const setUnreachable = dataplane.setUnreachable.bind(dataplane);
    dataplane.setUnreachable = async (prefixes) => {
      await kernel.wait();
      return await setUnreachable(prefixes);
    };
    bed.source.put(...web('a', ['192.0.2.1']));
    await bed.settle();
    dataplane.lose(new DataplaneError('failed', 'gone'));
    kernel.open();
    await bed.settle();
    expect(bed.peers.tables.get('tor1')).toEqual(new Set());
    await bed.advance(50);
    expect(bed.states.at(-1)?.problem?.code).toBe('DataPlaneFailed');
    await bed.advance(100);
    expect(bed.peers.tables.get('tor1')).toEqual(new Set(['192.0.2.0/25']));
  });

  test('a refused frontend is withdrawn even while unreachable routes cannot be set', async () => {
    const bed = await started(aggregates, ...web('a', ['192.0.2.1']), config({ drainSeconds: 0 }));
    bed.dataplane.unreachableFailure = new DataplaneError('failed', 'no routes today');
    bed.dataplane.refused.add('192.0.2.1 TCP 81');
    bed.source.put(...web('a', ['192.0.2.1'], { ports: ['81'] }), ...web('b', ['192.0.2.200']));
    await bed.advance(5_000);
    expect(bed.peers.tables.get('tor1')).toEqual(new Set());
    expect(bed.dataplane.kernel.has('192.0.2.200 TCP 80')).toBe(true);
    bed.dataplane.unreachableFailure = undefined;
    bed.takeLog();
    await bed.advance(30_000);
    expect(bed.takeLog().filter((line) => !line.startsWith('+'))).toEqual([
      'unreachable',
      'unreachable 192.0.2.128/25',
      'announce 192.0.2.128/25 to tor1',
    ]);
  });
});

describe('peers', () => {
  test('a new peer has every route from the start, a removed peer loses its session', async () => {
    const bed = await started(...web('a', ['192.0.2.1']), ...web('b', ['192.0.2.2']));
    bed.source.put(peer({ name: 'tor2', peerAddress: '10.0.0.253' }));
    await bed.settle();
    expect(bed.takeLog().filter((line) => !line.startsWith('+') && !line.startsWith('node'))).toEqual([
      'open tor2',
      'announce 192.0.2.1/32 to tor2',
      'announce 192.0.2.2/32 to tor2',
    ]);
    bed.source.remove(peer({ name: 'tor1' }));
    await bed.settle();
    const log = bed.takeLog();
    expect(log.indexOf('withdraw 192.0.2.1/32 to tor1')).toBeLessThan(log.indexOf('close tor1'));
    expect([...bed.peers.tables.keys()]).toEqual(['tor2']);
  });

  test('a second peer with the address of a running one changes nothing, even if its name sorts first', async () => {
    const { source, states, takeLog, advance } = await started(...web('a', ['192.0.2.1']));
    await advance(100);
    const [report] = states.slice(-1);
    if (report === undefined) throw new Error('no report');
    source.put({ ...report, metadata: metadata('n1') });
    source.put(peer({ name: 'a-copy' }));
    await advance(100);
    expect(takeLog().filter((line) => /^(open|close|withdraw|announce)/.test(line))).toEqual([]);
    expect(states.at(-1)?.sessions).toMatchObject([
      { peer: 'a-copy', state: 'Idle', since: '' },
      { peer: 'tor1', state: 'Established' },
    ]);
  });

  test('routes of a deleted pool are withdrawn', async () => {
    const bed = await started(...web('a', ['192.0.2.1']));
    bed.source.remove(pool({ name: 'main', addresses: [] }));
    await bed.settle();
    expect(bed.takeLog()).toContain('withdraw 192.0.2.1/32 to tor1');
  });
});

describe('stop', () => {
  test('the agent closes the sessions with Cease, leaves the rules, and writes the last state', async () => {
    const bed = await started(...web('a', ['192.0.2.1']));
    await bed.advance(100);
    const written = bed.states.length;
    await bed.agent.stop('bye');
    expect(bed.takeLog()).toEqual(['stop for restart: bye', 'data plane closed']);
    expect([...bed.dataplane.kernel.keys()]).toEqual(['192.0.2.1 TCP 80']);
    expect(bed.states).toHaveLength(written + 1);
    expect(bed.clock.pending).toBe(0);
    bed.source.put(...web('b', ['192.0.2.2']));
    await bed.advance(60_000);
    expect(bed.takeLog()).toEqual([]);
  });

  test('a permanent stop sends Cease to every peer', async () => {
    const bed = await started(...web('a', ['192.0.2.1']));
    await bed.agent.stop('bye', 'shutdown');
    expect(bed.takeLog()).toEqual(['stop for shutdown: bye', 'data plane closed']);
  });

  describe('permanent', () => {
    const gracefulShutdown = { kind: 'standard', value: 0xffff_0000 };
    const routes = ['192.0.2.1/32', '2001:db8:1::1/128'];
    const isLastResort = ({ peers }: Testbed, prefix: string): boolean => {
      const { communities = [], localPref } = peers.last.get(`${prefix} to tor1`) ?? {};
      return localPref === 0 && communities.some((one) => JSON.stringify(one) === JSON.stringify(gracefulShutdown));
    };
    const never = (): (() => void) => () => undefined;

    test("the agent first makes every route the routers' last resort, and gives them time", async () => {
      const bed = await started(...web('a', ['192.0.2.1', '2001:db8:1::1']));
      expect(routes.map((route) => isLastResort(bed, route))).toEqual([false, false]);
      let left = false;
      const leaving = bed.agent.gracefulShutdown(never).then(() => (left = true));
      await bed.advance(4_999);
      expect(routes.map((route) => isLastResort(bed, route))).toEqual([true, true]);
      expect([...(bed.peers.tables.get('tor1') ?? [])]).toEqual(routes);
      expect(left).toBe(false);
      await bed.advance(1);
      await leaving;
      expect(bed.takeLog()).toEqual([]);
      await bed.agent.stop('bye', 'shutdown');
      expect(bed.takeLog()).toEqual(['stop for shutdown: bye', 'data plane closed']);
      expect(bed.dataplane.kernel.size).toBe(2);
    });

    test('changed routes and new sessions follow the same rule during the wait', async () => {
      const bed = await started(...web('a', ['192.0.2.1']), ...web('b', ['192.0.2.2']));
      const leaving = bed.agent.gracefulShutdown(never);
      for (const object of web('b', ['192.0.2.2'])) bed.source.remove(object);
      bed.source.put(...web('c', ['192.0.2.3']), peer({ name: 'tor2', peerAddress: '10.0.0.253' }));
      await bed.settle();
      expect(isLastResort(bed, '192.0.2.3/32')).toBe(true);
      expect(bed.peers.tables.get('tor1')).toEqual(new Set(['192.0.2.1/32', '192.0.2.3/32']));
      expect(bed.peers.last.get('192.0.2.1/32 to tor2')?.communities).toContainEqual(gracefulShutdown);
      await bed.advance(5_000);
      await leaving;
    });

    test('the agent does not wait when it is told to hurry', async () => {
      const bed = await started(...web('a', ['192.0.2.1']));
      let hurry: (() => void) | undefined;
      const leaving = bed.agent.gracefulShutdown((callback) => {
        hurry = callback;
        return () => (hurry = undefined);
      });
      const timers = bed.clock.pending;
      hurry?.();
      await leaving;
      expect(hurry).toBeUndefined();
      expect(bed.clock.pending).toBe(timers - 1);
    });

    test('the agent does not wait when no router has a route', async () => {
      const bed = await started();
      await bed.agent.gracefulShutdown(never);
      expect(bed.clock.now()).toBe(0);
    });
  });

  test('no timer is left when the agent stops while rules drain and the data plane fails', async () => {
    const bed = await started(...web('a', ['192.0.2.1']));
    for (const object of web('a', ['192.0.2.1'])) bed.source.remove(object);
    await bed.settle();
    bed.dataplane.failure = new DataplaneError('failed', 'no');
    bed.source.put(...web('b', ['192.0.2.2']));
    await bed.settle();
    expect(bed.clock.pending).toBe(6);
    await bed.agent.stop('');
    expect(bed.clock.pending).toBe(0);
  });

  test.each([undefined, new DataplaneError('failed', 'no')])(
    'peers get Cease at once while the kernel works, and nothing more is announced (%s)',
    async (failure) => {
      const bed = await started();
      const kernel = gate();
      bed.dataplane.answer = kernel.wait;
      bed.source.put(...web('a', ['192.0.2.1']));
      await bed.settle();
      const stopped = bed.agent.stop('bye');
      await bed.settle();
      expect(bed.takeLog()).toEqual(['stop for restart: bye']);
      bed.dataplane.failure = failure;
      kernel.open();
      await stopped;
      expect(bed.takeLog().filter((line) => line.startsWith('announce'))).toEqual([]);
      expect(bed.clock.pending).toBe(0);
    },
  );
});
