import { expect, test } from 'vitest';
import { until } from '../../lab/until.ts';
import type { ClusterNode } from '../cluster/node.ts';
import type { Bed } from './bed.ts';
import { loadBalancer, onLink } from './objects.ts';

const patienceMs = 120_000;

/** Addresses that nodes announce by ARP and NDP: the ToR finds them on its own link. */
export function testL2(bed: () => Bed): void {
  test('the ToR learns an address of the link from one node, and from another one when that node is lost', async () => {
    const { cluster } = bed();
    for (const object of [...onLink(cluster.plan), loadBalancer('lan', 'lan')]) await cluster.apply(object);
    const addresses = await bed().addresses('lan');
    const before = await Promise.all(addresses.map((address) => untilServed(bed(), address)));
    const [owner] = before;
    if (owner === undefined) return expect.fail('the Service has no address');

    await owner.powerOff();
    const others = cluster.nodes.filter((node) => node !== owner);
    const after = await Promise.all(addresses.map((address) => untilServed(bed(), address, others)));
    expect(after).not.toContain(owner);

    await owner.powerOn();
    await cluster.untilReady(owner.name);
    await bed().untilRolledOut();
    await bed().untilAllSessions();
    for (const address of addresses) await untilServed(bed(), address);
    // The node was away for too short a time for the API server to notice, so its pods are endpoints before they run again.
    for (const address of await bed().addresses()) {
      const answered = async (note: (seen: unknown) => unknown): Promise<boolean> =>
        note((await cluster.client.tcp({ address, port: 80, count: 20, timeoutMs: 2000 })).failed) === 0;
      await until(`every pod behind ${address} answers again`, answered, patienceMs);
    }
    await cluster.kubectl(['delete', 'service', 'lan']);
    await cluster.kubectl(['delete', 'l2advertisement,ipaddresspool', 'lan']);
  });
}

/** Waits until the client gets an answer and the ToR's neighbour table has the address at one of these nodes. Returns that node. */
function untilServed({ cluster }: Bed, address: string, nodes: readonly ClusterNode[] = cluster.nodes): Promise<ClusterNode> {
  return until(
    `${address} is served by one of ${nodes.map(({ name }) => name).join(', ')}`,
    async (note) => {
      const { failed } = await cluster.client.tcp({ address, port: 80, timeoutMs: 2000 });
      const { stdout } = await cluster.tor.exec(['ip', '-json', 'neigh', 'show', 'to', address, 'dev', 'br0']);
      const [neighbor] = JSON.parse(stdout || '[]') as { readonly lladdr?: string }[];
      const macs = await Promise.all(nodes.map(macOf));
      note({ failed, neighbor });
      return failed === 0 && nodes[macs.findIndex((mac) => mac === neighbor?.lladdr)];
    },
    patienceMs,
  );
}

async function macOf({ machine }: ClusterNode): Promise<string | undefined> {
  const { stdout } = await machine.exec(['ip', '-json', 'link', 'show', 'eth0']);
  return (JSON.parse(stdout) as { readonly address?: string }[])[0]?.address;
}
