import { formatAddress, sameAddress, type Address } from '../../net/address.ts';
import { frontendFamily, type Backend, type Frontend, type FrontendMatch, type Protocol } from '../../net/frontend.ts';
import { isHostPrefix, prefixContains, type Prefix } from '../../net/prefix.ts';

/**
 * Which flows the kernel must forget: those of UDP (kube-proxy does the same) and of SCTP, whose clients use one port for
 * every association. A client of TCP notices by itself that its backend has gone; but where its first packet came before the
 * frontend, all further ones are treated as that one was (kubernetes/kubernetes#48719).
 */
export interface StaleFlows {
  readonly protocol: Protocol;
  /** The address the client sent to; absent: any (a NodePort). */
  readonly destination?: Address;
  readonly port: number;
  /** The address that answers: of the removed backend, or of the frontend itself where flows were not translated. */
  readonly replySource: Address;
  /** The port that answers; absent: any. */
  readonly replyPort?: number;
  /** Of TCP, unless its backend has gone from a frontend with `resetRemoved`; otherwise never: only those that nobody has answered. */
  readonly unreplied?: true;
}

/** Equal kinds have equal text. */
export function staleFlowsText({ protocol, destination, port, replySource, replyPort }: StaleFlows): string {
  const to = destination === undefined ? '*' : formatAddress(destination);
  return `${protocol} ${to} ${port} ${formatAddress(replySource)} ${replyPort ?? '*'}`;
}

/** One flow that the kernel tracks: where the client sent it, and who answers. */
export interface Flow {
  readonly protocol: Protocol;
  readonly destination: Address;
  readonly port: number;
  readonly replySource: Address;
  readonly replyPort: number;
  /** Somebody has answered. */
  readonly replied: boolean;
}

export interface ConntrackCleaner {
  /** Deletes the flows, and resolves to how many there were; none is success. Rejects with DataplaneError where the backend is missing or refuses. */
  delete(flows: readonly StaleFlows[]): Promise<number>;
  /** Shows every flow of UDP and SCTP, and those of TCP that nobody has answered; one or the other may come twice. Rejects as `delete` does. */
  each(see: (flow: Flow) => void): Promise<void>;
  /** Nothing is called afterwards. */
  close(): void;
}

/** For one frontend that changed from one form to another; undefined: absent. */
export function staleFlows(before: Frontend | undefined, after: Frontend | undefined, nodePortAddresses: readonly Prefix[]): StaleFlows[] {
  const match = (after ?? before)?.match;
  if (match === undefined) return [];
  const { protocol, port } = match;
  // What the client sends next begins anew, at a backend that knows nothing of it and answers with a reset.
  const reset = (after ?? before)?.resetRemoved === true;
  const where = match.kind === 'address' ? { destination: match.address } : {};
  const [old, current] = [usableBackends(before), usableBackends(after)];
  const keeping = new Set([...current.keys(), ...(after?.retained ?? []).map(backendKey)]);
  const stale: StaleFlows[] = [];
  for (const backend of [...old.values(), ...(before?.retained ?? [])]) {
    if ((protocol === 'TCP' && !reset) || keeping.has(backendKey(backend))) continue;
    stale.push({ protocol, ...where, port, replySource: backend.address, replyPort: backend.port });
  }
  if (old.size === 0 && current.size > 0) {
    for (const address of ownAddresses(match, nodePortAddresses))
      stale.push({ protocol, destination: address, port, replySource: address, ...(protocol === 'TCP' ? { unreplied: true } : {}) });
  }
  return stale;
}

/**
 * Of the flows that an agent finds when it starts: those to a frontend that lead to none of its backends, because the
 * backend went while no agent ran, or because they began before the frontend was there. Undefined: the flow is none of them.
 */
export function staleFlowMatcher(
  frontends: Iterable<Frontend>,
  nodePortAddresses: readonly Prefix[],
): (flow: Flow) => StaleFlows | undefined {
  const byAddress = new Map<string, Frontend>();
  const byNodePort = new Map<string, Frontend>();
  for (const frontend of frontends) {
    const { match } = frontend;
    if (match.kind === 'address') byAddress.set(`${formatAddress(match.address)} ${match.protocol} ${match.port}`, frontend);
    else byNodePort.set(`${match.family} ${match.protocol} ${match.port}`, frontend);
  }
  return ({ protocol, destination, port, replySource, replyPort, replied }) => {
    const translated = !sameAddress(destination, replySource) || port !== replyPort;
    if (protocol === 'TCP' && (translated || replied)) return undefined;
    const nodePort = byNodePort.get(`${destination.family} ${protocol} ${port}`);
    // An untranslated flow to a NodePort's number may be to any host; it is ours only where the address is.
    const ofNode = translated || nodePortAddresses.some((prefix) => prefixContains(prefix, destination));
    const frontend = byAddress.get(`${formatAddress(destination)} ${protocol} ${port}`) ?? (ofNode ? nodePort : undefined);
    if (frontend === undefined) return undefined;
    const known = new Set([...usableBackends(frontend).keys(), ...(frontend.retained ?? []).map(backendKey)]);
    // Without a backend an untranslated flow has nowhere else to go.
    if (known.has(backendKey({ address: replySource, port: replyPort })) || (!translated && known.size === 0)) return undefined;
    return { protocol, destination, port, replySource, replyPort, ...(protocol === 'TCP' ? { unreplied: true } : {}) };
  };
}

/** Where flows that were not translated have been going. Of a prefix that is no address nobody knows; they run into their time-out. */
function ownAddresses(match: FrontendMatch, nodePortAddresses: readonly Prefix[]): Address[] {
  if (match.kind === 'address') return [match.address];
  const family = frontendFamily(match);
  return nodePortAddresses.filter((prefix) => prefix.address.family === family && isHostPrefix(prefix)).map(({ address }) => address);
}

function usableBackends(frontend: Frontend | undefined): Map<string, Backend> {
  const all = [...(frontend?.backends ?? []), ...(frontend?.localBackends ?? [])];
  return new Map(all.map((backend) => [backendKey(backend), backend]));
}

function backendKey({ address, port }: Pick<Backend, 'address' | 'port'>): string {
  return `${formatAddress(address)} ${port}`;
}
