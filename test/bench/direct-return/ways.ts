import type { ClusterOptions } from '../../lab/direct-return/cluster.ts';
import type { Layout } from '../../lab/direct-return/three-nodes.ts';

/** The ways in which packets come to a backend of another node, by name, in each layout of the nodes. */
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
