import { currentReport, type NodeState } from '../../model/objects/node-state.ts';
import { assignedAddresses, type Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { BasisMemo, exactBasisOf } from '../../model/store/versioned-map.ts';
import { formatAddress, type Family } from '../../net/address.ts';
import { frontendKey } from '../../net/frontend.ts';

/** What the agents saw of connections. */
export interface SeenConnections {
  /** True when an agent that lives saw a connection to the frontend (by frontendKey) answered in the last ten minutes. */
  readonly answered: (frontend: string) => boolean;
  /** Returns why a connection may have been answered unseen. Undefined: every agent looks. */
  readonly unseen: () => Unseen | undefined;
  /** Since when no answer was seen where none was: "since tor1 asked for all routes again 20 s ago". Absent: lately. */
  readonly since?: string;
  /** How long ago the last answer was seen over a family: "12 s". Undefined: not known. */
  readonly age?: (family: Family) => string | undefined;
}

export type Unseen = 'checks are off (HeraldConfig)' | 'no agent reports what it saw' | 'not every agent reports what it saw';

/** Returns the frontends, by frontendKey, at which clients outside the cluster reach the Service. */
export function outsideFrontends(service: Service): string[] {
  const addresses = new Set([...assignedAddresses(service), ...service.externalIPs].map(formatAddress));
  return [...addresses].flatMap((address) => service.ports.map(({ protocol, port }) => `${address} ${protocol} ${port}`));
}

/** Returns the frontends that connections should reach: those outside the cluster; of a Service without any, its ClusterIPs and NodePorts. */
export function servedFrontends(service: Service): string[] {
  const outside = outsideFrontends(service);
  if (outside.length > 0) return outside;
  return service.ports.flatMap(({ protocol, port, nodePort }) => [
    ...service.clusterIPs.map((address) => frontendKey({ kind: 'address', address, protocol, port })),
    ...(nodePort === 0 || service.type === 'ClusterIP'
      ? []
      : service.ipFamilies.map((family) => frontendKey({ kind: 'nodePort', family, protocol, port: nodePort }))),
  ]);
}

type ReadSnapshot = Pick<Snapshot, 'config' | 'nodeStates'>;

const memo = new BasisMemo<ReadonlyMap<string, readonly string[]>>();

/** Reads the reports once for all Services. `now` is in milliseconds since the epoch. */
export function seenConnections({ config, nodeStates }: ReadSnapshot, now: number): SeenConnections {
  const nodesOf = memo.get(nodeStates, exactBasisOf(nodeStates), () => nodesByFrontend(nodeStates));
  return {
    answered: (frontend) => nodesOf.get(frontend)?.some((node) => currentReport(nodeStates, node, now) !== undefined) === true,
    unseen() {
      if (config.checks === 'off') return 'checks are off (HeraldConfig)';
      const current = [...nodeStates.keys()].flatMap((node) => currentReport(nodeStates, node, now) ?? []);
      const looking = current.filter(({ checks }) => checks !== undefined && checks.mode !== 'off' && checks.problem === undefined);
      if (looking.length === 0) return 'no agent reports what it saw';
      const isWhole = looking.length === current.length && looking.every(({ checks }) => checks?.truncated !== true);
      return isWhole ? undefined : 'not every agent reports what it saw';
    },
  };
}

function nodesByFrontend(nodeStates: ReadonlyMap<string, NodeState>): ReadonlyMap<string, readonly string[]> {
  const nodesOf = new Map<string, string[]>();
  for (const [node, { checks }] of nodeStates) {
    for (const frontend of checks?.answered ?? []) {
      const nodes = nodesOf.get(frontend);
      if (nodes === undefined) nodesOf.set(frontend, [node]);
      else nodes.push(node);
    }
  }
  return nodesOf;
}
