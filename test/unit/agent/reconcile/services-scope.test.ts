import { afterEach, describe, expect, test } from 'vitest';
import { DataplaneError } from '../../../../src/dataplane/dataplane.ts';
import type { ServicesScope } from '../../../../src/model/kinds/types.ts';
import type { HeraldObject } from '../../../../src/model/store/snapshot.ts';
import { advertisement, config } from '../../decisions/fixtures.ts';
import { basics, testbed, web, type Testbed } from '../testbed.ts';

let bed: Testbed | undefined;

/** Starts an agent in a scope. `prepare` runs before the start. */
async function start(services: ServicesScope, objects: readonly HeraldObject[], prepare: (bed: Testbed) => void = () => undefined) {
  bed = testbed([...basics, ...objects, config({ services })]);
  prepare(bed);
  await bed.agent.start();
  await bed.settle();
  return bed;
}

afterEach(async () => {
  const last = bed;
  bed = undefined;
  if (last === undefined || last.dataplane.closed) return;
  await last.agent.stop('the test is over');
  expect(last.clock.pending, 'timers that are left').toBe(0);
});

const routes = (bed: Testbed): string[] => bed.takeLog().filter((line) => /^(announce|withdraw)/.test(line));
const host = ({ states }: Testbed): string[] => (states.at(-1)?.host ?? []).map(({ code }) => code);
const differing = ({ states }: Testbed): string[] =>
  (states.at(-1)?.differing ?? []).map(({ service, aspect, reason }) => `${service} ${aspect} ${reason.code}`);

const both = web('a', ['192.0.2.1', '2001:db8:1::1']);
const [v4, v6] = ['192.0.2.1 TCP 80', '2001:db8:1::1 TCP 80'] as const;
const announced = ['announce 192.0.2.1/32 to tor1', 'announce 2001:db8:1::1/128 to tor1'];

describe('scope none', () => {
  test("nothing is programmed, old rules are removed, and a route waits for the other program's rule", async () => {
    const bed = await start('none', both, ({ foreign }) => foreign.appear());
    expect(bed.takeLog().filter((line) => !line.startsWith('open'))).toEqual(['cleared', 'unreachable']);
    expect(bed.dataplane.kernel.size).toBe(0);
    await bed.advance(100);
    expect(differing(bed)).toEqual(['default/a Programmed AwaitsForwarding', 'default/a Announced AwaitsForwarding']);
    bed.foreign.add(v4);
    await bed.settle();
    expect(routes(bed)).toEqual(announced.slice(0, 1));
    bed.foreign.add(v6);
    await bed.advance(100);
    expect(routes(bed)).toEqual(announced.slice(1));
    expect(differing(bed)).toEqual([]);
    expect(host(bed)).toEqual([]);
  });

  test("a route is withdrawn with the other program's rule, and announced again with it", async () => {
    const bed = await start('none', both, ({ foreign }) => foreign.appear(v4, v6));
    expect(routes(bed)).toEqual(announced);
    bed.foreign.remove(v4);
    await bed.settle();
    expect(routes(bed)).toEqual(['withdraw 192.0.2.1/32 to tor1']);
    bed.foreign.add(v4);
    await bed.settle();
    expect(routes(bed)).toEqual(announced.slice(0, 1));
    bed.foreign.vanish();
    await bed.settle();
    expect(routes(bed)).toEqual(['withdraw 192.0.2.1/32 to tor1', 'withdraw 2001:db8:1::1/128 to tor1']);
  });

  test('routes are announced while no rules are visible, and the node reports that it cannot tell', async () => {
    const bed = await start('none', both);
    expect(routes(bed)).toEqual(announced);
    await bed.advance(100);
    expect(host(bed)).toEqual(['ForwardingNotSeen']);
    expect(differing(bed)).toEqual([]);
    // From now on the rules are visible.
    bed.foreign.appear(v6);
    await bed.advance(100);
    expect(routes(bed)).toEqual(['withdraw 192.0.2.1/32 to tor1']);
    expect(host(bed)).toEqual([]);
  });

  test('a host that has just started gives the other program time', async () => {
    const bed = await start('none', both, ({ host }) => (host.uptime = 100_000));
    expect(routes(bed)).toEqual([]);
    await bed.advance(19_000);
    expect(routes(bed)).toEqual([]);
    await bed.advance(2_000);
    expect(routes(bed)).toEqual(announced);
  });

  test("the host's settings stay, and neither /healthz nor health-check node ports are served", async () => {
    const local = web('a', ['192.0.2.1'], { externalTrafficPolicy: 'Local', healthCheckNodePort: 31_000 });
    const bed = await start('none', local, ({ host, foreign }) => {
      host.settings.set('net/ipv4/ip_forward', '0');
      foreign.appear(v4);
    });
    expect(bed.host.written).toEqual([]);
    expect(bed.http.open).toEqual([]);
    bed.source.put(config({ services: 'all' }));
    await bed.advance(100);
    expect(bed.host.written).toEqual(['net/ipv4/ip_forward=1']);
    expect(bed.http.open).toEqual(['0.0.0.0:10256', '0.0.0.0:31000', ':::31000']);
    bed.source.put(config({ services: 'external' }));
    await bed.advance(100);
    expect(bed.http.open).toEqual([]);
  });
});

describe('scope external', () => {
  const clusterIP = advertisement({ name: 'cluster', addressTypes: ['ClusterIP'] });
  const service = web('a', ['192.0.2.1'], { clusterIPs: ['10.96.0.9'] });

  test('the agent forwards load balancer addresses; the route of a ClusterIP waits for the other program', async () => {
    const bed = await start('external', [...service, clusterIP], ({ foreign }) => foreign.appear());
    expect([...bed.dataplane.kernel.keys()]).toEqual([v4]);
    expect(routes(bed)).toEqual(announced.slice(0, 1));
    bed.foreign.add('10.96.0.9 TCP 80');
    await bed.settle();
    expect(routes(bed)).toEqual(['announce 10.96.0.9/32 to tor1']);
  });

  test('a masquerade bit that kube-proxy uses too is reported', async () => {
    const bed = await start('external', both, ({ foreign }) => foreign.appear());
    await bed.advance(100);
    expect(host(bed)).toEqual(['MasqueradeBitShared']);
    bed.source.put(config({ services: 'external', masqueradeBit: 13 }));
    await bed.advance(100);
    expect(host(bed)).toEqual([]);
  });
});

test('rules of kube-proxy are reported in scope all and change nothing', async () => {
  const bed = await start('all', both, ({ foreign }) => foreign.appear());
  expect(routes(bed)).toEqual(announced);
  await bed.advance(100);
  expect(host(bed)).toEqual(['KubeProxyBeside']);
  bed.foreign.vanish();
  await bed.advance(100);
  expect(host(bed)).toEqual([]);
  expect(routes(bed)).toEqual([]);
});

describe('a scope that changes while the agent runs', () => {
  const scopes: readonly ServicesScope[] = ['external', 'none', 'all', 'none', 'external', 'all'];

  test('no route moves while both programs have the frontend', async () => {
    const bed = await start('all', both, ({ foreign }) => foreign.appear(v4, v6));
    expect(routes(bed)).toEqual(announced);
    for (const services of scopes) {
      bed.source.put(config({ services }));
      await bed.settle();
      const atOnce = routes(bed);
      await bed.advance(6_000);
      const { size } = bed.dataplane.kernel;
      expect({ services, atOnce, later: routes(bed), size }).toEqual({
        services,
        atOnce: [],
        later: [],
        size: services === 'none' ? 0 : 2,
      });
    }
  });

  test('scope none without another forwarder: the route goes before the rule, which drains', async () => {
    const bed = await start('all', both, ({ foreign }) => foreign.appear(v6));
    bed.takeLog();
    bed.source.put(config({ services: 'none' }));
    await bed.settle();
    expect(bed.takeLog()[0]).toEqual('withdraw 192.0.2.1/32 to tor1');
    expect([...bed.dataplane.kernel.keys()]).toEqual([v4, v6]);
    await bed.advance(5_000);
    expect(bed.takeLog()).toEqual(['cleared', `-${v4}`, `-${v6}`]);
  });

  test('scope none without draining: the route still goes first', async () => {
    const bed = await start('all', [...both], ({ foreign }) => foreign.appear());
    bed.takeLog();
    bed.source.put(config({ services: 'none', drainSeconds: 0 }));
    await bed.settle();
    expect(bed.takeLog()).toEqual(['withdraw 192.0.2.1/32 to tor1', 'withdraw 2001:db8:1::1/128 to tor1', 'cleared', `-${v4}`, `-${v6}`]);
  });

  test('scope all: the kernel gets the rules first, then the routes are announced', async () => {
    const bed = await start('none', both, ({ foreign }) => foreign.appear());
    bed.takeLog();
    bed.source.put(config({ services: 'all' }));
    await bed.settle();
    expect(bed.takeLog()).toEqual(['node 10.0.0.1 fd00::1', `+${v4}`, `+${v6}`, ...announced]);
  });

  test('rules that the kernel does not remove are retried, and are no reason to withdraw', async () => {
    const bed = await start('all', both, ({ foreign }) => foreign.appear(v4, v6));
    bed.takeLog();
    bed.dataplane.failure = new DataplaneError('permission', 'no');
    bed.source.put(config({ services: 'none', drainSeconds: 0 }));
    await bed.settle();
    expect(routes(bed)).toEqual([]);
    bed.dataplane.failure = undefined;
    await bed.advance(1_000);
    expect(bed.takeLog()).toEqual(['cleared', `-${v4}`, `-${v6}`]);
  });
});
