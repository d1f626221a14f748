import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EndpointWays } from '../../../src/agent/checks/endpoint-ways.ts';
import { wayReader } from '../../../src/dataplane/host/ways/endpoint-ways.ts';
import { readHostLinks } from '../../../src/dataplane/host/host-links.ts';
import { droppingBridges } from '../../../src/decisions/host/bridge-filters.ts';
import { address } from '../../../src/net/address.ts';
import { systemClock } from '../../../src/system/clock.ts';
import { silentLog } from '../../../src/system/log.ts';
import { ip } from '../namespace.ts';
import { patience, until } from '../until.ts';
import { AgentsOnSegment, vip, vip6 } from './agents-on-segment.ts';
import { nodeAddress, nodeAddress6, podAddress, podAddress6, rankedByNumber } from './manifests.ts';

/** The uplink of n0, which answers for the addresses, is the bridge br1. Its bridge cni0 stands for that of a network plugin. n1 has a pod, too. */
let lab: AgentsOnSegment;
const settings = ['net.bridge.bridge-nf-call-iptables', 'net.bridge.bridge-nf-call-ip6tables'] as const;

beforeAll(async () => {
  lab = await AgentsOnSegment.build({ nodes: 2, advertisement: rankedByNumber, idle: true });
  const node = lab.segment.host(0);
  await ip(
    [
      'addr flush dev v0',
      'link set v0 address 02:00:00:00:99:00',
      `link add br1 address ${lab.segment.macOf(0)} type bridge mcast_snooping 0`,
      'link set v0 master br1',
      'link set br1 up',
      'link add cni0 type bridge',
    ],
    node,
  );
  await ip(
    [
      `addr add ${nodeAddress(0)}/16 dev br1`,
      `addr add ${nodeAddress6(0)}/64 dev br1 nodad`,
      // The kernel removed the routes that had the former address as their source.
      `route replace ${podAddress(0)}/32 dev pod src ${nodeAddress(0)}`,
      `route replace ${podAddress6(0)}/128 dev pod src ${nodeAddress6(0)}`,
      `route replace 10.244.1.0/24 via ${nodeAddress(1)}`,
      `route replace fd44:1::/64 via ${nodeAddress6(1)}`,
    ],
    node,
  );
  await lab.exec(0, ['sysctl', '-qw', ...settings.map((name) => `${name}=1`)]);
  lab.startController();
  await Promise.all([lab.startAgent(0), lab.startAgent(1)]);
  await lab.watch.ask([vip, vip6], 25);
  await lab.untilOwner(0);
});

afterAll(async () => {
  await lab?.close();
});

/** Returns the pods that answer connections to both addresses. A client whose first packet is lost sends it again, which may choose another pod. */
async function podsThatAnswer(): Promise<readonly string[][]> {
  const pods = [];
  for (const address of [vip, vip6]) pods.push(Object.keys((await lab.client.tcp({ address, port: 80, count: 20 })).pods).toSorted());
  return pods;
}

async function reported(): Promise<{ readonly message: string; readonly details?: { readonly remedy?: string } } | undefined> {
  return (await lab.report(0)).host?.find(({ code }) => code === 'BridgeDropsForwarded');
}

/** Returns the pods to which the node finds no way. All clients come by br1. */
async function podsWithoutWay(): Promise<readonly string[]> {
  const namespace = `/run/netns/${lab.segment.host(0)}`;
  const values = new Map<string, string>();
  for (const name of settings) values.set(name.replaceAll(/\.(?=bridge)/g, '/'), (await lab.exec(0, ['sysctl', '-n', name])).stdout.trim());
  const reader = wayReader(systemClock, namespace);
  const ways: EndpointWays = new EndpointWays(
    { clock: systemClock, log: silentLog, ...(reader === undefined ? {} : { ways: reader }) },
    {
      endpoints: () => [podAddress(0), podAddress(1), podAddress6(0), podAddress6(1)].map((each) => address(each)),
      dropping: async () =>
        droppingBridges({ links: await readHostLinks(systemClock, namespace), read: (path) => values.get(path) }, new Set(['br1'])),
      onChanged: () => undefined,
    },
  );
  ways.start();
  // It looks at once.
  await sleep(1_500);
  const found = [...ways.ways.keys()];
  ways.stop();
  return found;
}

const local = ['pod0'];
const all = ['pod0', 'pod1'];

test('a bridge that passes frames to IP filters loses connections, is reported, and the fix cures it', async () => {
  expect(await podsThatAnswer()).toEqual([local, local]);
  // The same with packets that a router sends because of a route of BGP.
  await ip([`route add ${vip}/32 via ${nodeAddress(0)}`, `route add ${vip6}/128 via ${nodeAddress6(0)}`], lab.segment.host(lab.clientHost));
  expect(await podsThatAnswer()).toEqual([local, local]);

  expect(await podsWithoutWay()).toEqual([podAddress(1), podAddress6(1)]);
  // A port in hairpin mode sends frames back. Nothing is said of them.
  await ip(['link set v0 type bridge_slave hairpin on'], lab.segment.host(0));
  expect(await podsWithoutWay()).toEqual([]);
  await ip(['link set v0 type bridge_slave hairpin off'], lab.segment.host(0));

  const found = await until('the node reports it', reported, 2 * patience);
  expect(found.message).toContain(`br1 leads to endpoints on other nodes, and ${settings.join(' is 1 and ')} is 1`);
  const { stdout } = await lab.herald('status', '--problems', '--source', lab.directory);
  expect(stdout).toContain('BridgeDropsForwarded');

  await lab.exec(0, ['sh', '-ec', found.details?.remedy ?? 'false']);
  expect(await podsThatAnswer()).toEqual([all, all]);
  expect(await podsWithoutWay()).toEqual([]);
  await ip([`route del ${vip}/32`, `route del ${vip6}/128`], lab.segment.host(lab.clientHost));
  expect(await podsThatAnswer()).toEqual([all, all]);
  // The bridges of pods still pass their frames to the filters.
  expect((await lab.exec(0, ['ip', '-d', 'link', 'show', 'cni0'])).stdout).toContain('nf_call_iptables 1 nf_call_ip6tables 1');
  expect((await lab.exec(0, ['ip', '-d', 'link', 'show', 'br1'])).stdout).toContain('nf_call_iptables 0 nf_call_ip6tables 0');
  await until('the node reports it no longer', async (note) => note(await reported()) === undefined, 2 * patience);
});

test('the option of the bridge alone loses them as well, and is reported with its own fix', async () => {
  await ip(['link set dev br1 type bridge nf_call_iptables 1'], lab.segment.host(0));
  expect(await podsThatAnswer()).toEqual([local, all]);
  const found = await until('the node reports it', reported, 2 * patience);
  expect(found.details?.remedy).toBe('ip link set dev br1 type bridge nf_call_iptables 0');
  await lab.exec(0, ['sh', '-ec', found.details?.remedy ?? 'false']);
  expect(await podsThatAnswer()).toEqual([all, all]);
});
