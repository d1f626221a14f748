import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { DataplaneError } from '../../../../src/dataplane/dataplane.ts';
import { limits } from '../../../../src/dataplane/localhost/limits.ts';
import { LocalhostDataplane } from '../../../../src/dataplane/localhost/localhost-dataplane.ts';
import { address, type Family } from '../../../../src/net/address.ts';
import type { Frontend, NodeForwarding, Protocol, ServiceForwarding } from '../../../../src/net/frontend.ts';
import { prefix } from '../../../../src/net/prefix.ts';
import { ListenError, type SocketAddress } from '../../../../src/system/http/http-listener.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { FakeDataplane } from '../../agent/fakes/fake-dataplane.ts';

const node: NodeForwarding = {
  nodePortAddresses: [prefix('10.0.0.0/24'), prefix('fd00::/64')],
  podPrefixes: [],
  servicePrefixes: [],
  masqueradeBit: 14,
  localhostNodePorts: true,
};

function nodePort(port: number, family: Family = 4, protocol: Protocol = 'TCP'): Frontend {
  return { match: { kind: 'nodePort', family, protocol, port }, scope: 'external', policy: 'Cluster', backends: [], localBackends: [] };
}

const clusterIP: Frontend = {
  match: { kind: 'address', address: address('10.96.0.1'), protocol: 'TCP', port: 80 },
  scope: 'internal',
  policy: 'Cluster',
  backends: [],
  localBackends: [],
};

const service = (...frontends: Frontend[]): ServiceForwarding => ({ frontends });

function setup() {
  const open = new Map<string, () => SocketAddress | undefined>();
  const taken = new Set<string>();
  const clock = new VirtualClock();
  const inner = new FakeDataplane();
  const own = ['192.0.2.1', '10.0.0.7', 'fe80::1', 'fd00::7'];
  const forwardTcp = async ({ address, port }: SocketAddress, target: () => SocketAddress | undefined) => {
    const key = `${address} ${port}`;
    if (taken.has(key) || open.has(key)) throw new ListenError('taken', 'the port is in use');
    open.set(key, target);
    return { close: async () => void open.delete(key) };
  };
  const dataplane = new LocalhostDataplane(inner, { forwardTcp, clock, log: silentLog }, () => own);
  const listening = async (): Promise<string[]> => {
    for (let turn = 0; turn < 3; turn++) await setImmediate();
    return [...open.keys()].toSorted();
  };
  return { dataplane, inner, clock, open, taken, own, listening };
}

describe('NodePorts on localhost', () => {
  test('TCP NodePorts are served in their families and lead to a NodePort address of the node', async () => {
    const { dataplane, open, own, listening } = setup();
    const web = service(clusterIP, nodePort(30_080), nodePort(30_080, 6), nodePort(30_053, 4, 'UDP'));
    await dataplane.replace(node, new Map([['web', web]]));
    expect(await listening()).toEqual(['127.0.0.1 30080', '::1 30080']);
    expect(open.get('127.0.0.1 30080')?.()).toEqual({ address: '10.0.0.7', port: 30_080 });
    expect(open.get('::1 30080')?.()).toEqual({ address: 'fd00::7', port: 30_080 });
    own.length = 0;
    expect(open.get('127.0.0.1 30080')?.()).toBeUndefined();
  });

  test('listeners open and close with their Services, a shared one with the last Service', async () => {
    const { dataplane, listening } = setup();
    await dataplane.replace(node, new Map([['a', service(nodePort(30_001))]]));
    await dataplane.apply(
      new Map([
        ['b', service(nodePort(30_001), nodePort(30_002))],
        ['a', undefined],
      ]),
    );
    expect(await listening()).toEqual(['127.0.0.1 30001', '127.0.0.1 30002']);
    await dataplane.apply(new Map([['b', service(nodePort(30_002))]]));
    expect(await listening()).toEqual(['127.0.0.1 30002']);
    await dataplane.replace(node, new Map([['c', service(nodePort(30_003))]]));
    expect(await listening()).toEqual(['127.0.0.1 30003']);
    await dataplane.clear();
    expect(await listening()).toEqual([]);
  });

  test('NodePorts are served only while the node asks for it', async () => {
    const { dataplane, listening } = setup();
    const { localhostNodePorts: _asked, ...quiet } = node;
    await dataplane.replace(quiet, new Map([['a', service(nodePort(30_001))]]));
    expect(await listening()).toEqual([]);
    await dataplane.setNode(node);
    expect(await listening()).toEqual(['127.0.0.1 30001']);
    await dataplane.setNode(quiet);
    expect(await listening()).toEqual([]);
  });

  test('a port that another program has is reported, and served once it is free', async () => {
    const { dataplane, taken, clock, listening } = setup();
    taken.add('127.0.0.1 30001');
    await dataplane.replace(node, new Map([['a', service(nodePort(30_001))]]));
    expect(await listening()).toEqual([]);
    expect(dataplane.unserved()).toEqual([{ family: 4, port: 30_001, why: 'the port is in use' }]);
    taken.clear();
    clock.advance(limits.retryMilliseconds);
    expect(await listening()).toEqual(['127.0.0.1 30001']);
    expect(dataplane.unserved()).toEqual([]);
    taken.add('127.0.0.1 30002');
    await dataplane.apply(new Map([['b', service(nodePort(30_002))]]));
    await listening();
    await dataplane.close();
    expect(clock.pending).toBe(0);
    expect(await listening()).toEqual([]);
  });

  test('the number of listeners is limited, and a failed apply does not change them', async () => {
    const { dataplane, inner, listening } = setup();
    const all = Array.from({ length: limits.listeners + 1 }, (_, index) => nodePort(30_000 + index));
    await dataplane.replace(node, new Map([['a', service(...all)]]));
    expect(await listening()).toHaveLength(limits.listeners);
    expect(dataplane.unserved()).toEqual([{ family: 4, port: 30_000 + limits.listeners, why: 'the limit of 6000 listeners is reached' }]);
    await dataplane.apply(new Map([['a', service(...all.slice(1))]]));
    expect(await listening()).toContain(`127.0.0.1 ${30_000 + limits.listeners}`);
    expect(dataplane.unserved()).toEqual([]);
    inner.failure = new DataplaneError('failed', 'no');
    await expect(dataplane.apply(new Map([['a', undefined]]))).rejects.toBe(inner.failure);
    expect(await listening()).toHaveLength(limits.listeners);
  });
});
