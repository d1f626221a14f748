import { formatAddress, sameAddress, type Address } from '../../net/address.ts';
import { frontendFamily, frontendKey, type Backend, type Frontend, type FrontendMatch, type Protocol } from '../../net/frontend.ts';
import { isHostPrefix, prefixContains, type Prefix } from '../../net/prefix.ts';

/**
 * A description of flows that the kernel must delete: those of UDP (as kube-proxy does) and of SCTP, whose clients use one port for every
 * association. A TCP client notices by itself that its backend is gone. But the kernel treats all further packets like the first one, so a
 * client repeats in vain a packet that came before the frontend existed (kubernetes/kubernetes#48719), or that went to a backend which was
 * lost; and for two minutes a new connection from the same port goes there, too.
 */
export interface StaleFlows {
  readonly protocol: Protocol;
  /** The address to which the client sent. Absent: any address (a NodePort). */
  readonly destination?: Address;
  readonly port: number;
  /** The address that replies: that of the removed backend, or of the frontend itself for flows that were not translated. */
  readonly replySource: Address;
  /** The port that replies. Absent: any port. */
  readonly replyPort?: number;
  /** Set for TCP, except when its backend was removed from a frontend with `resetRemoved`: only flows without a reply are deleted. */
  readonly unreplied?: true;
}

/** Returns a text that is equal for equal descriptions. */
export function staleFlowsText({ protocol, destination, port, replySource, replyPort }: StaleFlows): string {
  const to = destination === undefined ? '*' : formatAddress(destination);
  return `${protocol} ${to} ${port} ${formatAddress(replySource)} ${replyPort ?? '*'}`;
}

/** A flow that the kernel tracks: the destination to which the client sent, and the address and port that reply. */
export interface Flow {
  readonly protocol: Protocol;
  readonly destination: Address;
  readonly port: number;
  readonly replySource: Address;
  readonly replyPort: number;
  /** True: a reply was seen. */
  readonly replied: boolean;
}

export interface ConntrackCleaner {
  /**
   * Deletes the flows and resolves to their number; none is success. Rejects with DataplaneError when the backend is missing or refuses.
   */
  delete(flows: readonly StaleFlows[]): Promise<number>;
  /** Calls `see` with every flow of UDP and SCTP and every TCP flow without a reply. A flow may come twice. Rejects as `delete` does. */
  each(see: (flow: Flow) => void): Promise<void>;
  /** No callback is called afterwards. */
  close(): void;
}

/** Returns the stale flows of a frontend that changed from one form to another. Undefined: absent. */
export function staleFlows(before: Frontend | undefined, after: Frontend | undefined, nodePortAddresses: readonly Prefix[]): StaleFlows[] {
  const match = (after ?? before)?.match;
  if (match === undefined) return [];
  const { protocol, port } = match;
  // The client's next packet then starts a new flow, to a backend that does not know the connection and replies with a reset.
  const reset = (after ?? before)?.resetRemoved === true;
  const where = match.kind === 'address' ? { destination: match.address } : {};
  const [old, current] = [usableBackends(before), usableBackends(after)];
  const keeping = new Set([...current.keys(), ...(after?.retained ?? []).map(backendKey)]);
  const stale: StaleFlows[] = [];
  for (const backend of [...old.values(), ...(before?.retained ?? [])]) {
    if (keeping.has(backendKey(backend))) continue;
    const unreplied = protocol === 'TCP' && !reset ? ({ unreplied: true } as const) : {};
    stale.push({ protocol, ...where, port, replySource: backend.address, replyPort: backend.port, ...unreplied });
  }
  if (old.size === 0 && current.size > 0) {
    for (const address of ownAddresses(match, nodePortAddresses))
      stale.push({ protocol, destination: address, port, replySource: address, ...(protocol === 'TCP' ? { unreplied: true } : {}) });
  }
  return stale;
}

/**
 * Returns a function that recognises stale flows when an agent starts. A flow to a frontend is stale if it leads to none of its backends.
 * Then its backend was removed while no agent ran, or the flow began before the frontend existed. The function returns undefined for other
 * flows. `frontendOf` finds a frontend by `frontendKey`.
 */
export function staleFlowMatcher(
  frontendOf: (key: string) => Frontend | undefined,
  nodePortAddresses: readonly Prefix[],
): (flow: Flow) => StaleFlows | undefined {
  return ({ protocol, destination, port, replySource, replyPort, replied }) => {
    const translated = !sameAddress(destination, replySource) || port !== replyPort;
    if (protocol === 'TCP' && replied) return undefined;
    const find = (match: FrontendMatch): Frontend | undefined => frontendOf(frontendKey(match));
    // An untranslated flow to the number of a NodePort may have any host as destination. It counts only if the address belongs to this
    // node.
    const ofNode = translated || nodePortAddresses.some((prefix) => prefixContains(prefix, destination));
    const frontend =
      find({ kind: 'address', address: destination, protocol, port }) ??
      (ofNode ? find({ kind: 'nodePort', family: destination.family, protocol, port }) : undefined);
    if (frontend === undefined) return undefined;
    const known = new Set([...usableBackends(frontend).keys(), ...(frontend.retained ?? []).map(backendKey)]);
    // While the frontend has no backend, an untranslated flow cannot go anywhere else.
    if (known.has(backendKey({ address: replySource, port: replyPort })) || (!translated && known.size === 0)) return undefined;
    return { protocol, destination, port, replySource, replyPort, ...(protocol === 'TCP' ? { unreplied: true } : {}) };
  };
}

/**
 * Returns the destinations of flows that were not translated. For NodePort prefixes that are no host addresses they are unknown; such flows
 * time out.
 */
function ownAddresses(match: FrontendMatch, nodePortAddresses: readonly Prefix[]): Address[] {
  if (match.kind === 'address') return [match.address];
  const family = frontendFamily(match);
  return nodePortAddresses.filter((prefix) => prefix.address.family === family && isHostPrefix(prefix)).map(({ address }) => address);
}

function usableBackends(frontend: Frontend | undefined): Map<bigint, Backend> {
  const all = [...(frontend?.backends ?? []), ...(frontend?.localBackends ?? [])];
  return new Map(all.map((backend) => [backendKey(backend), backend]));
}

/** Distinguishes the backends of one frontend, which have one family. Costs less than a text: it is made for each backend at each change. */
function backendKey({ address, port }: Pick<Backend, 'address' | 'port'>): bigint {
  return (address.value << 16n) | BigInt(port);
}
