import { describe, expect, test } from 'vitest';
import type { ActiveConnections } from '../../../../../src/dataplane/conntrack/active-connections.ts';
import { DataplaneError } from '../../../../../src/dataplane/dataplane.ts';
import { CountingDataplane } from '../../../../../src/dataplane/nftables/counting/counting-dataplane.ts';
import { address, formatAddress } from '../../../../../src/net/address.ts';
import {
  frontendKey,
  type CountedBy,
  type Frontend,
  type NodeForwarding,
  type ServiceForwarding,
} from '../../../../../src/net/frontend.ts';
import { silentLog } from '../../../../../src/system/log.ts';
import { VirtualClock } from '../../../../../src/system/virtual-clock.ts';
import { FakeDataplane } from '../../../agent/fakes/fake-dataplane.ts';

const node: NodeForwarding = { nodePortAddresses: [], podPrefixes: [], servicePrefixes: [], masqueradeBit: 14 };
const servicePort = 'shop/web http TCP';
type Destination = '192.0.2.1' | '192.0.2.2' | 'NodePort';
const destinations: readonly Destination[] = ['192.0.2.1', '192.0.2.2', 'NodePort'];

function web(pods: readonly number[], by: CountedBy | 'turns' = 'connections'): ServiceForwarding {
  const backends = pods.map((pod) => ({ address: address(`10.0.0.${pod}`), port: 8080, local: true }));
  const ones = pods.map(() => 1);
  const counted = {
    turns: new Uint16Array(256),
    ...(by === 'turns' ? {} : { counting: { by, servicePort, weights: ones, localWeights: [], first: 0 } }),
  };
  const frontends = destinations.map((to): Frontend => ({
    match:
      to === 'NodePort'
        ? { kind: 'nodePort', family: 4, protocol: 'TCP', port: 30_080 }
        : { kind: 'address', address: address(to), protocol: 'TCP', port: 80 },
    scope: 'external',
    policy: 'Cluster',
    backends,
    localBackends: [],
    ...counted,
  }));
  return { frontends };
}

/** A node whose kernel is a few numbers: connections by destination and pod, and turns taken. */
class TestNode {
  readonly clock = new VirtualClock();
  readonly inner = new FakeDataplane();
  /** "192.0.2.1 10.0.0.1", one for each connection. */
  connections: string[] = [];
  taken = 0;
  looks = 0;
  spent = 0;
  failure: Error | undefined;
  readonly dataplane: CountingDataplane;

  constructor() {
    this.dataplane = this.start();
  }

  start(): CountingDataplane {
    return new CountingDataplane(this.inner, {
      clock: this.clock,
      log: silentLog,
      tally: () => {
        this.looks++;
        if (this.failure !== undefined) return Promise.reject(this.failure);
        // A look that takes processor time.
        this.clock.advance(this.spent);
        return Promise.resolve([...Map.groupBy(this.connections, (each) => each)].map(([text, all]) => tallyOf(text, all.length)));
      },
      turnsTaken: (chains) => Promise.resolve(chains.map(() => this.taken)),
    });
  }

  /** Opens connections as the kernel would. Returns the pods, by the last number of their address. */
  open(count: number, to: Destination = '192.0.2.1'): number[] {
    const found = this.inner.desired.get('web')?.frontends.find(({ match }) => frontendKey(match).startsWith(to));
    return Array.from({ length: count }, () => {
      const backend = found?.backends[found.turns?.[this.taken++ % 256] ?? -1];
      const pod = backend === undefined ? 'none' : formatAddress(backend.address);
      this.connections.push(`${to} ${pod}`);
      return Number(pod.split('.').at(-1));
    });
  }

  close(pod: number): void {
    this.connections = this.connections.filter((each) => !each.endsWith(`.${pod}`));
  }

  async pass(milliseconds: number): Promise<void> {
    for (let passed = 0; passed < milliseconds; passed += 50) {
      this.clock.advance(50);
      await settle();
    }
  }
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
}

function tallyOf(text: string, active: number): ActiveConnections {
  const [to = '', pod = ''] = text.split(' ');
  const [destination, port] = to === 'NodePort' ? ['172.16.0.1', 30_080] : [to, 80];
  return {
    pair: { destination: address(destination), protocol: 'TCP', port, endpoint: address(pod), endpointPort: 8080 },
    active,
  };
}

describe('turns that follow connections', () => {
  test('a pod that appears gets the new connections of all addresses first, then all take turns', async () => {
    const lab = new TestNode();
    await lab.dataplane.replace(node, new Map([['web', web([1, 2])]]));
    expect(lab.open(6)).toEqual([1, 2, 1, 2, 1, 2]);
    await lab.pass(1_100);
    await lab.dataplane.apply(new Map([['web', web([1, 2, 3])]]));
    expect([...lab.open(1, '192.0.2.1'), ...lab.open(1, '192.0.2.2'), ...lab.open(1, 'NodePort')]).toEqual([3, 3, 3]);
    expect(new Set(lab.open(3))).toEqual(new Set([1, 2, 3]));
  });

  test('connections that end are noticed within an interval', async () => {
    const lab = new TestNode();
    await lab.dataplane.replace(node, new Map([['web', web([1, 2, 3])]]));
    lab.open(9);
    lab.close(2);
    await lab.pass(1_100);
    expect(lab.open(3)).toEqual([2, 2, 2]);
  });

  test('nothing is looked at and no timer runs while no Service asks, and after the last one', async () => {
    const lab = new TestNode();
    await lab.dataplane.replace(node, new Map([['web', web([1, 2], 'turns')]]));
    await lab.pass(10_000);
    expect([lab.looks, lab.clock.pending]).toEqual([0, 0]);
    await lab.dataplane.apply(new Map([['web', web([1, 2])]]));
    await lab.pass(5_000);
    expect([lab.looks > 0, lab.clock.pending]).toEqual([true, 1]);
    const before = lab.looks;
    await lab.dataplane.apply(new Map([['web', web([1, 2], 'turns')]]));
    await lab.pass(10_000);
    expect([lab.looks, lab.clock.pending]).toEqual([before, 0]);
  });

  test('nothing is written while connections come as expected or not at all, beyond the turns that were taken', async () => {
    const lab = new TestNode();
    await lab.dataplane.replace(node, new Map([['web', web([1, 2, 3])]]));
    await lab.pass(2_000);
    const before = lab.inner.calls.length;
    await lab.pass(10_000);
    expect(lab.inner.calls.length).toBe(before);
    const turns = (): number[] => [...(lab.inner.desired.get('web')?.frontends[0]?.turns ?? [])];
    const [order, first] = [turns(), lab.taken];
    lab.open(5);
    await lab.pass(1_100);
    expect(lab.inner.calls.length).toBe(before + 1);
    const changed = turns().flatMap((backend, turn) => (backend === order[turn] ? [] : [turn]));
    expect(changed.every((turn) => turn >= first % 256 && turn < (first % 256) + 5)).toBe(true);
  });

  test('looks that take long are rarer: at most a twentieth of the time', async () => {
    const lab = new TestNode();
    lab.spent = 100;
    await lab.dataplane.replace(node, new Map([['web', web([1, 2])]]));
    await lab.pass(1_000);
    const before = lab.looks;
    // A look and the pause after it take 2.1 s.
    await lab.pass(21_000);
    expect(lab.looks - before).toBeGreaterThanOrEqual(8);
    expect(lab.looks - before).toBeLessThanOrEqual(12);
  });

  test('many changes of endpoints do not make looks more frequent than their cost allows', async () => {
    const lab = new TestNode();
    lab.spent = 100;
    await lab.dataplane.replace(node, new Map([['web', web([1, 2])]]));
    for (let time = 0; time < 100; time++) {
      await lab.dataplane.apply(new Map([['web', web(time % 2 === 0 ? [1, 2, 3] : [1, 2])]]));
      await lab.pass(100);
    }
    expect(lab.looks).toBeLessThanOrEqual(8);
  });

  test('a new process looks before its first rules, so no connection goes astray', async () => {
    const lab = new TestNode();
    await lab.dataplane.replace(node, new Map([['web', web([1, 2, 3])]]));
    lab.open(9);
    lab.close(3);
    await lab.dataplane.close();
    await lab.start().replace(node, new Map([['web', web([1, 2, 3])]]));
    expect(lab.open(3)).toEqual([3, 3, 3]);
  });

  test('connections that cannot be counted leave the turns as they are, and the next look tries again', async () => {
    const lab = new TestNode();
    lab.failure = new DataplaneError('failed', 'no conntrack');
    await lab.dataplane.replace(node, new Map([['web', web([1, 2])]]));
    expect(lab.open(4)).toEqual([1, 2, 1, 2]);
    lab.close(1);
    await lab.pass(2_000);
    lab.failure = undefined;
    await lab.pass(1_100);
    expect(lab.open(2)).toEqual([1, 1]);
  });

  test('turns that the kernel refuses are set by a later look', async () => {
    const lab = new TestNode();
    await lab.dataplane.replace(node, new Map([['web', web([1, 2])]]));
    lab.open(4);
    lab.close(1);
    lab.inner.failure = new DataplaneError('failed', 'busy');
    await lab.pass(1_100);
    lab.inner.failure = undefined;
    await lab.pass(1_100);
    expect(lab.open(2)).toEqual([1, 1]);
  });

  test('after clear and close nothing is looked at', async () => {
    for (const end of ['clear', 'close', 'cleanup'] as const) {
      const lab = new TestNode();
      await lab.dataplane.replace(node, new Map([['web', web([1, 2])]]));
      await lab.dataplane[end]();
      const before = lab.looks;
      await lab.pass(5_000);
      expect([end, lab.looks, lab.clock.pending]).toEqual([end, before, 0]);
    }
  });
});
