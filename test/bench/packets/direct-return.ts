import type { Family } from '../../../src/net/address.ts';
import { DataPlanes, type ClusterOptions } from '../../lab/direct-return/cluster.ts';
import { clientAddress, inside, namespaceOf, nodes, ThreeNodes, vip, type Layout } from '../../lab/direct-return/three-nodes.ts';
import { Flood, kindsOfTraffic, type Traffic } from './flood.ts';

/** Microseconds of a packet from the client over the router and the first of three nodes to a pod, in two of three cases on another node. */
export interface DirectReturnPackets {
  readonly layout: Layout;
  readonly by: string;
  readonly family: Family;
  readonly traffic: Traffic;
  readonly microseconds: number;
}

export const waysOf: Readonly<Record<Layout, readonly (readonly [string, ClusterOptions])[]>> = {
  link: [
    ['translated', { mode: 'auto', direct: false }],
    ['route', { mode: 'route' }],
    ['l2', { mode: 'l2' }],
  ],
  routed: [
    ['translated', { mode: 'auto', direct: false }],
    ['vxlan', { mode: 'vxlan' }],
  ],
};

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
    return [...Map.groupBy(all, ({ by, traffic, family }) => `${by} ${traffic} ${family}`).values()].flatMap((runs) =>
      runs.toSorted((a, b) => a.microseconds - b.microseconds).slice(0, 1),
    );
  } finally {
    await planes.close();
    lab.stop();
  }
}
