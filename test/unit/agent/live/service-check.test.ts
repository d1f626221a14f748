import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { checkEndpoint } from '../../../../src/agent/live/check/check-endpoint.ts';
import { ServiceCheck } from '../../../../src/agent/live/check/service-check.ts';
import { checkTargets, portText } from '../../../../src/agent/live/check/targets.ts';
import { limits } from '../../../../src/agent/limits.ts';
import type { CheckLine, LiveProblem } from '../../../../src/live/contract.ts';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import type { Service } from '../../../../src/model/objects/service.ts';
import type { Snapshot } from '../../../../src/model/store/snapshot.ts';
import { addressBytes, address } from '../../../../src/net/address.ts';
import { sleep, systemClock } from '../../../../src/system/clock.ts';
import type { KernelProber, Prober } from '../../../../src/system/probe/prober.ts';
import type { ProbeResult } from '../../../../src/system/probe/result.ts';
import { cluster, type ServiceLiteral } from '../../decisions/fixtures.ts';

const key = 'default/web' as ServiceKey;
const node1 = '10.0.0.11';

function snapshotOf(service: Omit<ServiceLiteral, 'name'>, endpoints: readonly string[], ports = ['8080']): Snapshot {
  return cluster({
    nodes: [{ name: 'node1', internalIPs: [node1] }],
    services: [{ name: 'web', assigned: ['198.51.100.10'], ...service }],
    slices: [{ service: 'web', name: 'web-1', family: 4, ports, endpoints }],
  });
}

function web({ services }: Snapshot): Service {
  const service = services.get(key);
  if (service === undefined) throw new Error('the snapshot has no Service');
  return service;
}

const answered: ProbeResult = { result: 'answered', milliseconds: 1 };
const silent: ProbeResult = { result: 'silent', milliseconds: 3000 };

/** A host where `fates` decides about each address; others answer. */
function proberOf(fates: Readonly<Record<string, ProbeResult>>, kernel?: Partial<KernelProber>): Prober & { readonly opened: string[] } {
  const opened: string[] = [];
  const fate = (protocol: string) => async (to: { readonly text: string }, port: number) => {
    opened.push(`${to.text}:${port}/${protocol}`);
    await setImmediate();
    return fates[`${to.text}:${port}`] ?? answered;
  };
  return { opened, tcp: fate('TCP'), udp: fate('UDP'), ...(kernel === undefined ? {} : { kernel: kernel as KernelProber }) };
}

async function linesOf(
  snapshot: Snapshot,
  prober: Prober,
  hostPaths?: ConstructorParameters<typeof ServiceCheck>[0]['hostPaths'],
): Promise<CheckLine[]> {
  const check = new ServiceCheck(
    { snapshot: () => snapshot, node: 'node1', prober, hostPaths, clock: systemClock },
    new AbortController().signal,
  );
  return Array.fromAsync(check.run(web(snapshot)));
}

test('targets are the addresses that Herald forwards and the endpoints that take connections', () => {
  const snapshot = snapshotOf({ ports: ['80', '53/UDP'] }, ['10.244.1.10@node1', '10.244.2.10@node2', '10.244.2.11@node2 notready']);
  const { targets, unprobed } = checkTargets(snapshot, web(snapshot), 'node1');
  expect(targets.map(({ what, address: to, port, protocol, on }) => `${what} ${portText(to, port, protocol)} ${on ?? ''}`)).toEqual([
    'address 10.96.0.1:80/TCP ',
    'address 10.96.0.1:53/UDP ',
    'address 198.51.100.10:80/TCP ',
    'address 198.51.100.10:53/UDP ',
    'endpoint 10.244.1.10:8080/TCP node1',
    'endpoint 10.244.2.10:8080/TCP node2',
  ]);
  expect(unprobed).toEqual([]);
});

test('an address whose source ranges do not admit the node is not probed, and the reason is given', () => {
  const snapshot = snapshotOf({ sourceRanges: ['203.0.113.0/24'] }, ['10.244.1.10@node1']);
  const { targets, unprobed } = checkTargets(snapshot, web(snapshot), 'node1');
  expect(targets.map(({ address: to, port, protocol }) => portText(to, port, protocol))).not.toContain('198.51.100.10:80/TCP');
  expect(unprobed).toEqual([
    { type: 'unprobed', what: '198.51.100.10:80/TCP', why: 'loadBalancerSourceRanges do not admit the addresses of node1' },
  ]);
});

test('each probe has a line, silent ones with hops, refused ones with the sender, and the end is last', async () => {
  const hop = addressBytes(address('10.0.0.12'));
  const prober = proberOf(
    { '10.244.2.10:8080': silent, '10.244.2.11:8080': { result: 'refused', milliseconds: 2 } },
    {
      hops: async () => [{ ttl: 1, from: hop }],
      connect: async () => ({ result: 'refused', milliseconds: 2, icmp: { from: hop, type: 3, code: 3, mtu: 0 } }),
      size: async (to, size) => (to.text === '10.244.1.10' ? { result: 'answered', size, milliseconds: 1 } : { result: 'lost', size }),
    },
  );
  const snapshot = snapshotOf({}, ['10.244.1.10@node1', '10.244.2.10@node2', '10.244.2.11@node2']);
  const lines = await linesOf(snapshot, prober, async (targets) =>
    targets.map((_, index) => (index === 0 ? { interface: 'c1', mtu: 1500, farMtu: 1450 } : { interface: 'up', mtu: 1500 })),
  );
  expect(lines.at(-1)).toEqual({ type: 'end', probes: 8 });
  expect(lines).toContainEqual({
    type: 'probe',
    what: 'endpoint',
    protocol: 'TCP',
    to: '10.244.2.10:8080',
    on: 'node2',
    result: 'silent',
    milliseconds: 3000,
    hops: [{ ttl: 1, from: '10.0.0.12' }],
  });
  expect(lines).toContainEqual({
    type: 'probe',
    what: 'endpoint',
    protocol: 'TCP',
    to: '10.244.2.11:8080',
    on: 'node2',
    result: 'refused',
    milliseconds: 2,
    by: '10.0.0.12',
  });
  const sizes = lines.filter((line) => line.type === 'probe' && line.what === 'size');
  expect(sizes).toContainEqual({
    type: 'probe',
    what: 'size',
    protocol: 'ICMP',
    to: '10.244.1.10',
    on: 'node1',
    result: 'answered',
    size: 1450,
    milliseconds: 1,
  });
  expect(sizes).toContainEqual({
    type: 'probe',
    what: 'size',
    protocol: 'ICMP',
    to: '10.244.2.10',
    on: 'node2',
    result: 'lost',
    size: 1500,
  });
});

test('a probe that this host could not send is no result', async () => {
  const lines = await linesOf(
    snapshotOf({}, ['10.244.1.10@node1']),
    proberOf({ '10.244.1.10:8080': { result: 'notSent', milliseconds: 0, error: 'EMFILE' } }),
  );
  expect(lines).toContainEqual({ type: 'unprobed', what: '10.244.1.10:8080/TCP', why: 'the node sent no packet (EMFILE)' });
});

test('SCTP without FFI is not probed', async () => {
  const snapshot = snapshotOf({ ports: ['5000/SCTP'] }, []);
  expect(await linesOf(snapshot, proberOf({}))).toContainEqual(
    expect.objectContaining({ type: 'unprobed', what: '198.51.100.10:5000/SCTP' }),
  );
});

test('at most so many probes are open at once, and at most so many belong to a check', async () => {
  let open = 0;
  let most = 0;
  const prober: Prober = {
    ...proberOf({}),
    tcp: async () => {
      most = Math.max(most, ++open);
      await sleep(systemClock, 5);
      open--;
      return answered;
    },
  };
  const endpoints = Array.from({ length: limits.checkProbes + 50 }, (_, index) => `10.244.${Math.floor(index / 200)}.${index % 200}@node1`);
  const lines = await linesOf(snapshotOf({}, endpoints), prober);
  expect(most).toBe(limits.checkAtOnce);
  expect(lines.at(-1)).toEqual({ type: 'end', probes: limits.checkProbes });
  expect(lines).toContainEqual({ type: 'unprobed', what: '52 more', why: `one check has at most ${limits.checkProbes} probes` });
});

test('the endpoint answers for known Services, one check at a time, and is free when its client has gone', async () => {
  const snapshot = snapshotOf({}, ['10.244.1.10@node1']);
  const prober = proberOf({});
  const answer = checkEndpoint({ snapshot: () => snapshot, node: 'node1', prober, clock: systemClock });
  const ask = async (service: string, signal: AbortSignal) => answer({ path: '', query: new URLSearchParams({ service }), signal });
  const [first, second] = [new AbortController(), new AbortController()];
  expect((await ask('default/none', first.signal)).status).toBe(404);
  expect((await ask('', first.signal)).status).toBe(400);
  expect(prober.opened).toEqual([]);
  expect((await ask(key, first.signal)).status).toBe(200);
  const refused = await ask(key, second.signal);
  expect(refused.status).toBe(429);
  expect('body' in refused && (JSON.parse(refused.body) as LiveProblem)).toEqual({
    error: 'the agent runs another check',
    fix: 'try again when it has ended',
  });
  first.abort();
  expect((await ask(key, second.signal)).status).toBe(200);
});

test('a client that goes away ends all open probes, and none of them ends the process', async () => {
  const gone = new AbortController();
  let opened = 0;
  const endless = (_to: unknown, _port: number, _timeout: number, signal: AbortSignal) => {
    // No result was awaited yet.
    if (++opened === 3) gone.abort(new Error('the client has gone'));
    return new Promise<ProbeResult>((_, reject) => {
      if (signal.aborted) reject(signal.reason as Error);
      else signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
  };
  const snapshot = snapshotOf({}, ['10.244.1.10@node1', '10.244.1.11@node1', '10.244.1.12@node1']);
  const components = { snapshot: () => snapshot, node: 'node1', prober: { tcp: endless, udp: endless }, clock: systemClock };
  const lines = Array.fromAsync(new ServiceCheck(components, gone.signal).run(web(snapshot)));
  await expect(lines).rejects.toThrow('the client has gone');
  // An unhandled rejection would fail this file.
  await sleep(systemClock, 10);
});
