import type { Frontend } from '../../net/frontend.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';

/**
 * Marks frontends whose address answers ICMP echo with the node's first address of the family, which answers in its place. An address
 * answers when one of its ports has a backend that this node may use for outside clients, so that "ping" tells of this node what it tells
 * of a server.
 */
export function withIcmpEcho(snapshot: Snapshot, service: Service, nodeName: string, frontends: readonly Frontend[]): readonly Frontend[] {
  if (!(service.icmpEcho ?? snapshot.config.icmpEcho)) return frontends;
  const own = snapshot.nodes.get(nodeName)?.internalIPs ?? [];
  return frontends.map((frontend) => {
    const { match, scope, policy, backends, localBackends } = frontend;
    if (match.kind !== 'address' || scope !== 'external') return frontend;
    const usable = policy === 'Local' ? localBackends : backends;
    const echoFrom = own.find(({ family }) => family === match.address.family);
    return usable.length === 0 || echoFrom === undefined ? frontend : { ...frontend, echoFrom };
  });
}
