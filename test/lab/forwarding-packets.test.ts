import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { NftablesDataplane } from '../../src/dataplane/nftables/nftables.ts';
import { machinePorts } from '../../src/dataplane/nftables/ports.ts';
import { namespaceNamed } from '../support/namespace-named.ts';
import { address, type Family } from '../../src/net/address.ts';
import type { Backend, Frontend, NodeForwarding, Protocol, ServiceForwarding } from '../../src/net/frontend.ts';
import { prefix } from '../../src/net/prefix.ts';
import { systemClock } from '../../src/system/clock.ts';
import { silentLog } from '../../src/system/log.ts';
import { placeAddress, type Place } from '../vectors/scenario.ts';
import { shortTimeout, inside, namespaceOf, OneNode, podPort, type Machine } from './dataplane/one-node.ts';
import { patience } from './until.ts';

/**
 * Cases that a single packet does not show: packets that only a raw socket can send, and flows that continue while their frontend changes.
 */
const families: readonly Family[] = [4, 6];
const raw = fileURLToPath(new URL('dataplane/raw.mjs', import.meta.url));

const node: NodeForwarding = {
  nodePortAddresses: [prefix('10.99.0.1/32'), prefix('fd99::1/128')],
  podPrefixes: [prefix('10.244.0.0/16'), prefix('fd01::/64')],
  servicePrefixes: [],
  masqueradeBit: 14,
};

const startDataplane = async (services: ReadonlyMap<string, ServiceForwarding>): Promise<NftablesDataplane> => {
  const started = new NftablesDataplane(
    machinePorts(systemClock, silentLog, { own: false, namespace: namespaceNamed(namespaceOf('node')) }),
  );
  await started.replace(node, services);
  return started;
};

/** The kernel counts packets and deletes flows with some delay. */
const eventually = { timeout: patience } as const;

let lab: OneNode;
let dataplane: NftablesDataplane;

beforeAll(async () => {
  lab = await OneNode.start();
  // Counts packets by port as they arrive at a machine, before anything is done to them.
  for (const machine of ['client', 'pod1', 'pod2', 'pod3'] as const) {
    inside(machine, 'nft add table inet seen', 'nft add chain inet seen arriving { type filter hook prerouting priority -400 ; }');
    for (const rule of [
      'tcp sport 8080',
      'sctp dport 8080',
      'icmp type destination-unreachable icmp code port-unreachable',
      'icmpv6 type destination-unreachable icmpv6 code port-unreachable',
    ])
      inside(machine, `nft add rule inet seen arriving ${rule} counter`);
  }
  dataplane = await startDataplane(new Map());
});

afterEach(async () => {
  await dataplane.apply(new Map([['web', undefined]]));
  inside('node', 'conntrack -F');
});

afterAll(async () => {
  await dataplane?.close();
  lab?.stop();
});

const backends = (family: Family, ...pods: (1 | 2 | 3)[]): Backend[] =>
  pods.map((pod) => ({ address: address(placeAddress(`pod${pod}`, family)), port: podPort, local: pod !== 3 }));

function forwarding(family: Family, protocol: Protocol, rest: Partial<Frontend>): ServiceForwarding {
  const match = { kind: 'address', address: address(placeAddress('external1', family)), protocol, port: 80 } as const;
  return { frontends: [{ match, scope: 'external', policy: 'Local', backends: [], localBackends: [], ...rest }] };
}

function send(
  kind: 'SCTP INIT' | 'TCP without flags',
  from: Place & Machine,
  to: Place,
  family: Family,
  ports: { sourcePorts: readonly number[]; port: number },
): void {
  const packet = { kind, source: placeAddress(from, family), destination: placeAddress(to, family), ...ports };
  execFileSync('ip', ['netns', 'exec', namespaceOf(from), process.execPath, raw, JSON.stringify(packet)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

/** Returns the number of packets that a machine received and that this rule of `beforeAll` counted. */
function seen(machine: Machine, rule: string): number {
  const line = inside(machine, 'nft list chain inet seen arriving')
    .split('\n')
    .find((each) => each.includes(rule) && each.includes('counter'));
  return Number(/packets (\d+)/.exec(line ?? '')?.[1] ?? Number.NaN);
}

describe.each(families)('IPv%i', (family) => {
  test("a pod's packet that conntrack calls INVALID does not reach the client", async () => {
    /** Sends one stray packet and returns a function that counts how many reached the client since. */
    const stray = (): (() => number) => {
      const before = seen('client', 'tcp sport 8080');
      send('TCP without flags', 'pod1', 'client', family, { sourcePorts: [podPort], port: 45_000 });
      return () => seen('client', 'tcp sport 8080') - before;
    };
    await expect.poll(stray(), eventually).toBe(1);
    await dataplane.apply(
      new Map([['web', forwarding(family, 'TCP', { backends: backends(family, 1), localBackends: backends(family, 1) })]]),
    );
    expect(stray()()).toBe(0);
    // Only packets of this node's own backends are translated back here.
    await dataplane.apply(new Map([['web', forwarding(family, 'TCP', { backends: backends(family, 3) })]]));
    await expect.poll(stray(), eventually).toBe(1);
  });

  describe('SCTP', () => {
    /** Sends INITs. Returns a function with the pods that received one since, and the number of refusals that the sender got. */
    const init = (from: 'client' | 'pod2', ...sourcePorts: number[]): (() => { pods: string[]; refused: number }) => {
      const icmp = family === 4 ? 'icmp type' : 'icmpv6 type';
      const pods = ['pod1', 'pod2', 'pod3'] as const;
      const before = pods.map((pod) => seen(pod, 'sctp dport 8080'));
      const refusals = seen(from, icmp);
      send('SCTP INIT', from, 'external1', family, { sourcePorts, port: 80 });
      return () => ({
        pods: pods.filter((pod, index) => seen(pod, 'sctp dport 8080') > (before[index] ?? 0)),
        refused: seen(from, icmp) - refusals,
      });
    };
    const flows = (): string => inside('node', `conntrack -L -p sctp -f ipv${family}`);

    test('an SCTP association is translated and follows the policy', async () => {
      await dataplane.apply(
        new Map([['web', forwarding(family, 'SCTP', { backends: backends(family, 1, 3), localBackends: backends(family, 1) })]]),
      );
      await expect.poll(init('client', 20_001, 20_002, 20_003, 20_004), eventually).toEqual({ pods: ['pod1'], refused: 0 });
      expect(flows()).toContain(`src=${placeAddress('pod1', family)} dst=${placeAddress('client', family)} sport=8080`);
      // A pod of the cluster reaches all backends.
      const reached = init('pod2', ...Array.from({ length: 24 }, (_, index) => 21_000 + index));
      await expect.poll(reached, eventually).toMatchObject({ pods: ['pod1', 'pod3'] });
    });

    test('an SCTP association is masqueraded under policy Cluster', async () => {
      await dataplane.apply(new Map([['web', forwarding(family, 'SCTP', { policy: 'Cluster', backends: backends(family, 1) })]]));
      await expect.poll(init('client', 22_001), eventually).toMatchObject({ pods: ['pod1'] });
      expect(flows()).toContain(`src=${placeAddress('pod1', family)}`);
      expect(flows()).not.toContain(`src=${placeAddress('pod1', family)} dst=${placeAddress('client', family)} `);
    });

    test('SCTP is refused by a frontend without backends, and dropped if only this node has none', async () => {
      await dataplane.apply(new Map([['web', forwarding(family, 'SCTP', {})]]));
      await expect.poll(init('client', 23_001), eventually).toEqual({ pods: [], refused: 1 });
      await dataplane.apply(new Map([['web', forwarding(family, 'SCTP', { backends: backends(family, 3) })]]));
      expect(init('client', 23_002)()).toEqual({ pods: [], refused: 0 });
    });

    test('the next INIT from a port goes to another pod after its old pod has gone', async () => {
      await dataplane.apply(
        new Map([['web', forwarding(family, 'SCTP', { backends: backends(family, 1), localBackends: backends(family, 1) })]]),
      );
      for (let time = 0; time < 2; time++) await expect.poll(init('client', 24_001), eventually).toMatchObject({ pods: ['pod1'] });
      await dataplane.apply(
        new Map([['web', forwarding(family, 'SCTP', { backends: backends(family, 2), localBackends: backends(family, 2) })]]),
      );
      // An INIT to the old pod may still be under way before the association is deleted.
      await expect.poll(() => init('client', 24_001)().pods, eventually).toEqual(['pod2']);
    });
  });

  describe('a UDP client that keeps its port', () => {
    const ask = async (localPort: number, timeout?: number): Promise<string> => {
      const request = { protocol: 'UDP', address: placeAddress('external1', family), port: 80, localPort } as const;
      const { counts } = await lab.request('client', timeout === undefined ? request : { ...request, timeout });
      return Object.keys(counts).join();
    };
    const web = (rest: Partial<Frontend>): ReadonlyMap<string, ServiceForwarding> => {
      return new Map([['web', forwarding(family, 'UDP', { policy: 'Cluster', ...rest })]]);
    };

    test('the client keeps a pod that still serves while new clients get another, and moves when it ends', async () => {
      await dataplane.apply(web({ backends: backends(family, 1) }));
      expect(await ask(41_001)).toBe('pod1');
      await dataplane.apply(web({ backends: backends(family, 2), retained: backends(family, 1) }));
      expect(await ask(41_002)).toBe('pod2');
      expect(await ask(41_001)).toBe('pod1');
      await dataplane.apply(web({ backends: backends(family, 2) }));
      await expect.poll(() => ask(41_001), eventually).toBe('pod2');
    });

    test('the client moves if its pod went while no agent ran', async () => {
      await dataplane.apply(web({ backends: backends(family, 1) }));
      expect(await ask(41_003)).toBe('pod1');
      await dataplane.close();
      dataplane = await startDataplane(web({ backends: backends(family, 2) }));
      await expect.poll(() => ask(41_003), eventually).toBe('pod2');
    });

    test('the client is served although its flow began before the Service existed', async () => {
      expect(await ask(41_004, shortTimeout)).not.toContain('pod');
      await dataplane.apply(web({ backends: backends(family, 1) }));
      await expect.poll(() => ask(41_004), eventually).toBe('pod1');
    });

    test('the client is refused when no pod is left, and served once there is one again', async () => {
      await dataplane.apply(web({ backends: backends(family, 1) }));
      expect(await ask(41_005)).toBe('pod1');
      await dataplane.apply(web({}));
      await expect.poll(() => ask(41_005), eventually).toBe('ECONNREFUSED');
      await dataplane.apply(web({ backends: backends(family, 2) }));
      await expect.poll(() => ask(41_005), eventually).toBe('pod2');
    });
  });
});
