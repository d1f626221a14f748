import { describe, expect, test } from 'vitest';
import { limits } from '../../../../src/agent/limits.ts';
import { DataplaneError } from '../../../../src/dataplane/dataplane.ts';
import type { HeraldObject } from '../../../../src/model/store/snapshot.ts';
import { config, node, service, slice, type ServiceLiteral } from '../../decisions/fixtures.ts';
import { basics, testbed, type Testbed } from '../testbed.ts';
import { lowered } from '../../../support/lowered.ts';

/** The node has no IPv6 address, unless the objects say otherwise. */
async function started(...objects: readonly HeraldObject[]): Promise<Testbed> {
  const bed = testbed([...basics, node({ name: 'n1', internalIPs: ['10.0.0.1'] }), ...objects]);
  await bed.agent.start();
  await bed.settle();
  bed.http.log.length = 0;
  return bed;
}

/** A Service with policy Local, IPv4 only by default. */
const local = (name: string, healthCheckNodePort: number, more: Omit<ServiceLiteral, 'name'> = {}): HeraldObject =>
  service({ name, externalTrafficPolicy: 'Local', healthCheckNodePort, ...more });
const endpoints = (name: string, ...list: readonly string[]): HeraldObject =>
  slice({ service: name, name: `${name}-${list.some((text) => text.startsWith('fd')) ? 6 : 4}`, ports: ['80'], endpoints: list });
const status = (bed: Testbed, place: string, path?: string): number | undefined => bed.http.get(place, path)?.status;

function reported(bed: Testbed): string[] {
  const differing = (bed.states.at(-1)?.differing ?? []).filter(({ aspect }) => aspect === 'HealthCheck');
  return differing.map(({ service, reason }) => `${service} ${reason.code} ${JSON.stringify(reason.details)}`);
}

describe('health-check node ports', () => {
  test('a port answers exactly as kube-proxy does', async () => {
    const bed = await started(local('web', 32_000), endpoints('web', '10.1.0.1@n1', '10.1.0.2@n1', '10.2.0.1@n2'));
    expect(bed.http.get('0.0.0.0:32000', '/whatever')).toEqual({
      status: 200,
      headers: {
        'Content-Type': 'application/json',
        'X-Content-Type-Options': 'nosniff',
        'X-Load-Balancing-Endpoint-Weight': '2',
      },
      body: '{\n\t"service": {\n\t\t"namespace": "default",\n\t\t"name": "web"\n\t},\n\t"localEndpoints": 2,\n\t"serviceProxyHealthy": true\n}',
    });
  });

  test('a port answers 503 with weight 0 without a local endpoint, and reopens no socket when that changes', async () => {
    const bed = await started(local('web', 32_000), endpoints('web', '10.2.0.1@n2'));
    expect(bed.http.get('0.0.0.0:32000')).toMatchObject({ status: 503, headers: { 'X-Load-Balancing-Endpoint-Weight': '0' } });
    bed.source.put(endpoints('web', '10.1.0.1@n1'));
    await bed.settle();
    expect(status(bed, '0.0.0.0:32000')).toBe(200);
    bed.source.put(endpoints('web', '10.1.0.1@n1 draining'));
    await bed.settle();
    expect(status(bed, '0.0.0.0:32000')).toBe(503);
    expect(bed.http.log).toEqual([]);
  });

  test('a change is visible after the commit, not before', async () => {
    const bed = await started(local('web', 32_000), endpoints('web', '10.2.0.1@n2'));
    const { promise, resolve } = Promise.withResolvers<void>();
    bed.dataplane.answer = () => promise;
    bed.source.put(endpoints('web', '10.1.0.1@n1'));
    await bed.settle();
    expect(status(bed, '0.0.0.0:32000')).toBe(503);
    resolve();
    await bed.settle();
    expect(status(bed, '0.0.0.0:32000')).toBe(200);
  });

  test('a port opens and closes with its Service, while others stay', async () => {
    const bed = await started(local('a', 32_001), local('b', 32_002));
    bed.source.put(local('c', 32_003));
    bed.source.remove(local('a', 32_001));
    bed.source.put(local('b', 32_002, { ports: ['80', '81'] }));
    await bed.settle();
    expect(bed.http.log.toSorted()).toEqual(['close 0.0.0.0:32001', 'open 0.0.0.0:32003']);
    bed.source.put(local('b', 32_002, { externalTrafficPolicy: 'Cluster' }));
    await bed.settle();
    expect(bed.http.open).toEqual(['0.0.0.0:10256', '0.0.0.0:32003']);
  });

  test('a port is served in the families of the Service, each with its own count', async () => {
    const dual = { clusterIPs: ['10.96.0.1', 'fd96::1'] };
    const bed = await started(local('web', 32_000, dual), endpoints('web', '10.1.0.1@n1'), endpoints('web', 'fd01::1@n2'));
    expect(status(bed, '0.0.0.0:32000')).toBe(200);
    expect(status(bed, ':::32000')).toBe(503);
    bed.source.put(local('web', 32_000));
    await bed.settle();
    expect(bed.http.log).toEqual(['close :::32000']);
  });

  test('a port is served in both families of a dual-stack node, whatever the families of the Service', async () => {
    const bed = await started(local('web', 32_000), endpoints('web', '10.1.0.1@n1'));
    expect(bed.http.get(':::32000')).toBeUndefined();
    bed.source.put(node({ name: 'n1', internalIPs: ['10.0.0.1', 'fd00::1'] }));
    await bed.settle();
    expect(bed.http.log).toEqual(['open :::32000']);
    expect(bed.http.get(':::32000')).toMatchObject({ status: 200, headers: { 'X-Load-Balancing-Endpoint-Weight': '1' } });
  });

  test('two Services may swap their ports', async () => {
    const bed = await started(local('a', 32_001), local('b', 32_002), endpoints('a', '10.1.0.1@n1'));
    bed.source.put(local('a', 32_002), local('b', 32_001));
    await bed.settle();
    expect(status(bed, '0.0.0.0:32002')).toBe(200);
    expect(status(bed, '0.0.0.0:32001')).toBe(503);
    await bed.advance(limits.reportPauseMilliseconds);
    expect(reported(bed)).toEqual([]);
  });

  test('a port that another program uses is reported, and served once it is free', async () => {
    const bed = await started();
    bed.http.taken.add('0.0.0.0:32000');
    bed.source.put(local('web', 32_000));
    await bed.advance(limits.reportPauseMilliseconds);
    expect(reported(bed)).toEqual(['default/web HealthCheckNotServed {"port":32000,"family":"IPv4","why":"the port is in use"}']);
    bed.http.taken.clear();
    await bed.advance(limits.listenRetryMilliseconds);
    expect(bed.http.open).toContain('0.0.0.0:32000');
    await bed.advance(limits.reportPauseMilliseconds);
    expect(reported(bed)).toEqual([]);
  });

  test('a family that the host lacks is not reported', async () => {
    const bed = await started();
    bed.http.absent.add(':::32000');
    bed.source.put(local('web', 32_000, { clusterIPs: ['10.96.0.1', 'fd96::1'] }));
    await bed.advance(limits.reportPauseMilliseconds);
    expect(bed.http.open).toContain('0.0.0.0:32000');
    expect(reported(bed)).toEqual([]);
  });

  test('a port that two Services request is reported with the name of its owner', async () => {
    const bed = await started(local('a', 32_000));
    bed.source.put(local('b', 32_000));
    await bed.advance(limits.reportPauseMilliseconds);
    expect(reported(bed)).toEqual([expect.stringMatching(/^default\/b HealthCheckNotServed .*by Service default\/a/)]);
    bed.source.remove(local('a', 32_000));
    await bed.advance(limits.listenRetryMilliseconds);
    expect(bed.http.get('0.0.0.0:32000')?.body).toContain('"name": "b"');
  });

  test('ports listen on nodePortAddresses only, also on later addresses; /healthz listens everywhere', async () => {
    const dual = local('web', 32_000, { clusterIPs: ['10.96.0.1', 'fd96::1'] });
    const bed = await started(dual, config({ nodePortAddresses: ['10.0.0.0/24', 'fd00::/64'] }));
    expect(bed.http.open).toEqual(['0.0.0.0:10256', '10.0.0.1:32000']);
    bed.host.list.push({ name: 'eth0', address: 'fd00::1', length: 64 }, { name: 'eth1', address: '10.9.0.1', length: 24 });
    await bed.advance(limits.hostCheckMilliseconds);
    expect(bed.http.log).toEqual(['open fd00::1:32000']);
    bed.source.put(config({ nodePortAddresses: ['0.0.0.0/0', 'fd00::1/128'] }));
    await bed.settle();
    expect(bed.http.log.slice(1)).toEqual(['close 10.0.0.1:32000', 'open 0.0.0.0:32000']);
    bed.source.put(config({ nodePortAddresses: ['10.0.0.0/24'] }));
    await bed.settle();
    expect(bed.http.open).toEqual(['0.0.0.0:10256', '10.0.0.1:32000']);
    await bed.advance(limits.reportPauseMilliseconds);
    expect(reported(bed)).toEqual([]);
  });

  test('ports beyond the limit are reported, and served once there is room', async () => {
    using _ = lowered(limits, { healthCheckListeners: 20 });
    const many = Array.from({ length: limits.healthCheckListeners }, (_, index) =>
      local(`s${index}`, 20_000 + index, { clusterIPs: [`10.96.${1 + (index >> 8)}.${index & 255}`] }),
    );
    const bed = await started(...many);
    bed.source.put(local('last', 60_000));
    await bed.settle();
    expect(bed.http.open).not.toContain('0.0.0.0:60000');
    await bed.advance(limits.reportPauseMilliseconds);
    expect(reported(bed)).toEqual([
      `default/last HealthCheckNotServed {"port":60000,"family":"IPv4","why":"there are ${limits.healthCheckListeners} already"}`,
    ]);
    bed.source.remove(local('s0', 20_000));
    await bed.settle();
    expect(bed.http.open).toContain('0.0.0.0:60000');
  });

  test('ports close when the agent stops, also while they wait for the port', async () => {
    const bed = await started(local('a', 32_001), local('b', 32_001));
    await bed.agent.stop('bye');
    expect(bed.http.open).toEqual([]);
    expect(bed.clock.pending).toBe(0);
  });
});

describe("kube-proxy's metrics port", () => {
  const proxyStatus = { address: '127.0.0.1', port: 10_249 };

  test('the mode of forwarding is served while Herald forwards all Services', async () => {
    const bed = testbed(basics, { proxyStatus });
    await bed.agent.start();
    await bed.settle();
    const answers = ['/proxyMode', '/healthz', '/herald', '/metrics'].map((path) => bed.http.get('127.0.0.1:10249', path));
    expect(answers.map((answer) => [answer?.status, answer?.body])).toEqual([
      [200, 'nftables'],
      [200, 'ok'],
      [200, 'ok'],
      [404, '404 page not found\n'],
    ]);
    bed.source.put(config({ services: 'external' }));
    await bed.settle();
    expect(bed.http.open).not.toContain('127.0.0.1:10249');
  });

  test('a port that kube-proxy still has is taken over when it is free, and is no problem of the host', async () => {
    const bed = testbed(basics, { proxyStatus });
    bed.http.taken.add('127.0.0.1:10249');
    await bed.agent.start();
    await bed.advance(limits.reportPauseMilliseconds);
    expect(bed.states.at(-1)).not.toHaveProperty('host');
    bed.http.taken.clear();
    await bed.advance(limits.listenRetryMilliseconds);
    expect(bed.http.get('127.0.0.1:10249', '/proxyMode')?.body).toBe('nftables');
  });
});

describe('node health', () => {
  const healthz = '0.0.0.0:10256';

  test('/healthz is good, with the time, while the data plane keeps up', async () => {
    const bed = await started();
    bed.clock.advance(5_000);
    const answer = bed.http.get(healthz, '/healthz');
    expect(answer).toMatchObject({ status: 200, headers: { 'Content-Type': 'application/json', 'X-Content-Type-Options': 'nosniff' } });
    expect(JSON.parse(answer?.body ?? '')).toEqual({
      lastUpdated: '2026-01-01T00:00:05.000Z',
      currentTime: '2026-01-01T00:00:05.000Z',
      nodeEligible: true,
      healthy: true,
      status: {
        IPv4: { lastUpdated: '2026-01-01T00:00:00.000Z', healthy: true },
        IPv6: { lastUpdated: '2026-01-01T00:00:00.000Z', healthy: true },
      },
    });
    expect(JSON.parse(bed.http.get(healthz, '/livez')?.body ?? '')).not.toHaveProperty('nodeEligible');
    expect(status(bed, healthz, '/metrics')).toBe(404);
  });

  test('/healthz and all health checks fail when a change has waited for a minute, until the kernel has it', async () => {
    const bed = await started(local('web', 32_000), endpoints('web', '10.1.0.1@n1'));
    bed.dataplane.failure = new DataplaneError('failed', 'no');
    bed.source.put(local('other', 32_001));
    await bed.advance(limits.syncMilliseconds - 1);
    expect(['/healthz', '/livez'].map((path) => status(bed, healthz, path))).toEqual([200, 200]);
    expect(status(bed, '0.0.0.0:32000')).toBe(200);
    await bed.advance(1);
    expect(['/healthz', '/livez'].map((path) => status(bed, healthz, path))).toEqual([503, 503]);
    expect(bed.http.get('0.0.0.0:32000')).toMatchObject({
      status: 503,
      body: expect.stringContaining('"serviceProxyHealthy": false') as string,
    });
    expect(JSON.parse(bed.http.get(healthz, '/healthz')?.body ?? '')).toMatchObject({
      lastUpdated: '2026-01-01T00:00:00.000Z',
      healthy: false,
    });
    bed.dataplane.failure = undefined;
    await bed.advance(limits.retryMaximumMilliseconds);
    expect(['/healthz', '/livez'].map((path) => status(bed, healthz, path))).toEqual([200, 200]);
    expect(status(bed, '0.0.0.0:32000')).toBe(200);
  });

  test('/healthz does not stay good for ever if the first sync never succeeds', async () => {
    const bed = testbed(basics);
    bed.dataplane.failure = new DataplaneError('failed', 'no');
    await bed.agent.start();
    await bed.settle();
    expect(bed.http.get(healthz, '/healthz')?.status).toBe(200);
    await bed.advance(limits.syncMilliseconds);
    expect(bed.http.get(healthz, '/healthz')).toMatchObject({
      status: 503,
      body: expect.stringContaining('"lastUpdated":"0001-01-01T00:00:00Z"') as string,
    });
  });

  test('a node that is about to be removed fails /healthz, but not /livez or its health checks', async () => {
    const bed = await started(local('web', 32_000), endpoints('web', '10.1.0.1@n1'));
    bed.source.put(node({ name: 'n1', internalIPs: ['10.0.0.1', 'fd00::1'], toBeDeleted: true }));
    await bed.settle();
    expect(bed.http.get(healthz, '/healthz')).toMatchObject({
      status: 503,
      body: expect.stringContaining('"nodeEligible":false') as string,
    });
    expect(status(bed, healthz, '/livez')).toBe(200);
    expect(status(bed, '0.0.0.0:32000')).toBe(200);
  });

  test('a healthz address that the host lacks is reported', async () => {
    const bed = testbed(basics, { healthz: [{ address: '10.0.0.9', port: 10_256 }] });
    bed.http.absent.add('10.0.0.9:10256');
    await bed.agent.start();
    await bed.advance(limits.reportPauseMilliseconds);
    expect(bed.states.at(-1)?.host).toMatchObject([{ code: 'HealthzNotServed', details: { address: '10.0.0.9:10256' } }]);
  });

  test('a healthz port that is taken is reported for the host', async () => {
    const bed = testbed(basics);
    bed.http.taken.add(healthz);
    await bed.agent.start();
    await bed.advance(limits.reportPauseMilliseconds);
    expect(bed.states.at(-1)?.host).toMatchObject([{ code: 'HealthzNotServed', details: { address: healthz } }]);
    bed.http.taken.clear();
    await bed.advance(limits.listenRetryMilliseconds);
    await bed.advance(limits.reportPauseMilliseconds);
    expect(bed.states.at(-1)).not.toHaveProperty('host');
    expect(status(bed, healthz, '/healthz')).toBe(200);
  });
});
