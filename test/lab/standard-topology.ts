import type { PodSpec, Topology } from './topology.ts';
export declare function standardTopology(options: { readonly pods: readonly PodSpec[]; readonly nodes?: number }): Topology;
