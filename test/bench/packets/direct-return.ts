import type { Family } from '../../../src/net/address.ts';
import { DataPlanes } from '../../lab/direct-return/cluster.ts';
import { clientAddress, inside, namespaceOf, nodes, ThreeNodes, vip, type Layout } from '../../lab/direct-return/three-nodes.ts';
import { waysOf } from '../direct-return/ways.ts';
import { Flood, kindsOfTraffic, leastOf, type Traffic } from './flood.ts';

/** Microseconds of a packet from the client over the router and the first of three nodes to a pod, in two of three cases on another node. */
export interface DirectReturnPackets {
  readonly layout: Layout;
  readonly by: string;
  readonly family: Family;
  readonly traffic: Traffic;
  readonly microseconds: number;
}

export async function measureDirectReturn(layout: Layout, turns: number, packets: number): Promise<DirectReturnPackets[]> {
  const lab = await ThreeNodes.start(layout);
  const planes = new DataPlanes(layout);
  try {
    const flood = new Flood({
      client: namespaceOf('client'),
      gateway: inside('router', 'cat /sys/class/net/client/address').trim(),
      pods: nodes.map((n) => namespaceOf(`pod${n}`)),
      nodes: nodes.map((n) => namespaceOf(`node${n}`)),
    });
    const all: DirectReturnPackets[] = [];
    for (let turn = 0; turn < turns; turn++) {
      for (const [by, wish] of waysOf[layout]) {
        await planes.set(wish);
        for (const traffic of kindsOfTraffic)
          for (const family of [4, 6] as const) {
            const destination = { source: clientAddress(family), address: vip(family), port: 80 };
            all.push({ layout, by, family, traffic, microseconds: await flood.microseconds(traffic, destination, packets) });
          }
      }
    }
    return leastOf(all, ({ by, traffic, family }) => `${by} ${traffic} ${family}`);
  } finally {
    await planes.close();
    lab.stop();
  }
}
