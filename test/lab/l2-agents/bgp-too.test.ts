import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { documents, type Manifest } from '../host/objects.ts';
import type { Probe } from '../probe.ts';
import { until } from '../until.ts';
import { AgentsOnSegment, vip, vip6 } from './agents-on-segment.ts';
import { announcementManifests, nodeAddress, nodeAddress6, nodeName, serviceManifests } from './manifests.ts';
import { SegmentRouter } from './segment-router.ts';

/**
 * Three nodes whose pool has a BGPAdvertisement and an L2Advertisement. The client on the segment has no route to the pool; the client behind
 * the router has its way by the router alone.
 */
const nodes = [0, 1, 2];
const addresses = [vip, vip6];
let lab: AgentsOnSegment;
let router: SegmentRouter;

const advertisement: Manifest = {
  apiVersion: 'herald.dev/v1alpha1',
  kind: 'BGPAdvertisement',
  metadata: { name: 'routers' },
  spec: { ipAddressPools: ['segment'] },
};

/** Writes the manifests, without those of a kind. `pods`: the nodes whose pods are ready. */
function write({ without, pods = nodes }: { readonly without?: string; readonly pods?: readonly number[] } = {}): Promise<void> {
  const all = [
    ...announcementManifests({ ipAddressPools: ['segment'] }),
    advertisement,
    ...SegmentRouter.peers(router.addresses),
    ...serviceManifests({ pods }),
  ];
  return lab.write('20-herald.yaml', documents(...all.filter((one) => one['kind'] !== without)));
}

const viaNodes = (address: string, among: readonly number[]): string[] =>
  among.map(address.includes(':') ? nodeAddress6 : nodeAddress).toSorted();

/** Waits until FRR and the kernel of its host send the addresses to exactly these nodes. */
async function untilNextHops(among: readonly number[]): Promise<void> {
  for (const address of addresses) {
    const wanted = viaNodes(address, among).join();
    await until(`the router sends ${address} to ${wanted === '' ? 'no node' : wanted}`, async (note) => {
      const seen = note({ bgp: await router.bgpNextHops(address), kernel: await router.kernelNextHops(address) });
      return seen.bgp.join() === wanted && seen.kernel.join() === wanted;
    });
  }
}

const oneWay = 'True: Every address of the Service is announced by at least one node';
const bothWays = `${oneWay}, by BGP and by ARP or NDP`;

/** Waits until one node answers for each address, and returns the nodes. */
const untilBothWays = async (): Promise<readonly number[]> => {
  await untilNextHops(nodes);
  return lab.untilOwned();
};

const probes = (client: AgentsOnSegment['client']): readonly Probe[] =>
  addresses.map((address) => client.probe({ protocol: 'tcp', address, port: 80, intervalMs: 10, timeoutMs: 3_000 }));

async function untilAnswered(running: readonly Probe[]): Promise<void> {
  await until('requests are answered', () => running.every(({ outcomes }) => outcomes.filter(({ ok }) => ok).length >= 5));
}

async function expectNoLoss(running: readonly Probe[]): Promise<void> {
  for (const probe of running) expect((await probe.stop()).errors).toEqual({});
}

/** Expects answers of all these pods at both addresses, over TCP and UDP. `seen`: the sources that pods see, by address. */
async function expectAnswers(
  client: AgentsOnSegment['client'],
  seen: (address: string) => readonly string[],
  among: readonly number[] = nodes,
): Promise<void> {
  for (const address of addresses) {
    for (const protocol of ['tcp', 'udp'] as const) {
      const { errors, pods, clients } = await client[protocol]({ address, port: 80, count: 60 });
      expect(errors).toEqual({});
      expect(Object.keys(pods).sort()).toEqual(among.map((at) => `pod${at}`));
      expect(clients.toSorted()).toEqual(seen(address));
    }
  }
}

const announced = async (): Promise<string> => {
  const { status, message } = (await lab.condition('web', 'Announced')) ?? {};
  return `${status}: ${message}`;
};

beforeAll(async () => {
  lab = await AgentsOnSegment.build({ nodes: nodes.length, strangers: 2, idle: true });
  router = await SegmentRouter.start(lab, nodes);
  await write();
  lab.startController();
  await Promise.all(nodes.map((at) => lab.startAgent(at)));
  await lab.watch.ask(addresses, 25);
  await untilBothWays();
});

afterAll(async () => {
  await router?.close();
  await lab?.close();
});

describe('a pool with a BGPAdvertisement and an L2Advertisement', () => {
  test('the router has the addresses by BGP, in bgpd and kernel, and sends no ARP or NDP request for them', async () => {
    // A node replaces the source of packets for pods of other nodes, so pods see which nodes the router chose.
    await expectAnswers(router.client, (address) => viaNodes(address, nodes));
    for (const address of addresses) {
      expect(await router.bgpNextHops(address)).toEqual(viaNodes(address, nodes));
      expect(await router.kernelNextHops(address)).toEqual(viaNodes(address, nodes));
      expect(router.neighbour(address)).toBe('');
    }
  });

  test('a client on the link has no route, and connects by ARP and NDP through the owner alone', async () => {
    const owners = await lab.untilOwned();
    await expectAnswers(lab.client, (address) => viaNodes(address, [owners[addresses.indexOf(address)] ?? 0]));
    for (const [index, address] of addresses.entries()) {
      const run = (...command: readonly string[]): string => lab.segment.run(lab.clientHost, 'ip', ...command);
      expect(run('route', 'get', address)).not.toContain('via');
      expect(run('neigh', 'show', 'to', address)).toContain(lab.segment.macOf(owners[index] ?? 0));
    }
  });

  test('explain and the condition Announced name both ways', async () => {
    const owners = await lab.untilOwned();
    const text = await until('explain shows what is announced', async (note) => {
      const found = note(await lab.explain('shop/web', '--no-ask'));
      return /^(?:Served|Announced, not checked): /.test(found) ? found : undefined;
    });
    for (const [index, address] of addresses.entries()) {
      const [protocol, peer] = address.includes(':') ? ['NDP', 'router-v6'] : ['ARP', 'router-v4'];
      expect(text.split(`  ${address} is announced to ${peer}\n`)).toHaveLength(nodes.length + 1);
      expect(text.split(`  ${address} is announced on v0 by ${protocol}\n`)).toHaveLength(2);
      expect(text).toContain(`${address} by ${protocol}\n  ${nodeName(owners[index] ?? 0)} answers on v0`);
    }
    await until('the condition names both', async (note) => note(await announced()) === bothWays);
  });

  test('a node that is cut off is replaced as the owner, and is no next hop until it returns', async () => {
    const [owner = 0] = await lab.untilOwned();
    const others = nodes.filter((at) => at !== owner);
    lab.segment.plug(owner, false);
    // Kubernetes says so when it no longer hears of the node.
    await write({ pods: others });
    await until('another node answers', async (note) => {
      const answering = note(await Promise.all(addresses.map((address) => lab.answering(address))));
      return answering.every(([at = owner, ...more]) => at !== owner && more.length === 0);
    });
    await untilNextHops(others);
    const owners = await lab.untilOwned();
    await expectAnswers(router.client, (address) => viaNodes(address, others), others);
    await expectAnswers(lab.client, (address) => viaNodes(address, [owners[addresses.indexOf(address)] ?? 0]), others);
    lab.segment.plug(owner, true);
    await write();
    await untilBothWays();
  });

  test.each(['BGPAdvertisement', 'L2Advertisement'] as const)(
    'without its %s the other way loses no request, and with it again both are back',
    async (kind) => {
      const isL2 = kind === 'L2Advertisement';
      const running = probes(isL2 ? router.client : lab.client);
      await untilAnswered(running);
      await write({ without: kind });
      if (isL2) {
        await until(
          'nobody answers',
          async (note) => note(await Promise.all(addresses.map((address) => lab.answering(address)))).flat().length === 0,
        );
        await untilNextHops(nodes);
      } else {
        await untilNextHops([]);
        await lab.untilOwned();
      }
      await until('the condition no longer names both', async (note) => {
        const text = note(await announced());
        // Machines of the link get no answer then, which the condition says.
        return isL2 ? text.startsWith(`${oneWay}. But `) && text.includes('is announced by BGP only') : text === oneWay;
      });
      await write();
      await untilBothWays();
      await until('the condition names both', async (note) => note(await announced()) === bothWays);
      await expectNoLoss(running);
    },
  );
});
