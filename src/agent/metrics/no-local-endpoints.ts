import type { ForwardingChanges } from '../../dataplane/dataplane.ts';
import { frontendFamily, type Frontend, type FrontendScope, type ServiceForwarding } from '../../net/frontend.ts';

/** The address families as kube-proxy labels them. One pass of Herald programs both. */
export const ipFamilies = ['IPv4', 'IPv6'] as const;
type IpFamily = (typeof ipFamilies)[number];
/** Number of ports of a Service by policy and family. An absent key is 0. */
type Counts = ReadonlyMap<string, number>;

const policies = ['internal', 'external'] as const satisfies readonly FrontendScope[];

/**
 * Counts the ports of Services with traffic policy Local that have endpoints, but none that this node may use: the kernel drops their
 * traffic. Counts as kube-proxy does (serviceNoLocalEndpointsTotal* of pkg/proxy/nftables): a port once, however many addresses it has.
 */
export class WithoutLocalEndpoints {
  readonly #services = new Map<string, Counts>();
  readonly #totals = new Map<string, number>();

  replace(services: ReadonlyMap<string, ServiceForwarding>): void {
    this.#services.clear();
    this.#totals.clear();
    this.apply(services);
  }

  apply(changes: ForwardingChanges): void {
    for (const [key, forwarding] of changes) {
      for (const [kind, count] of this.#services.get(key) ?? []) this.#totals.set(kind, (this.#totals.get(kind) ?? 0) - count);
      const counts = countsOf(forwarding?.frontends ?? []);
      if (counts.size === 0) this.#services.delete(key);
      else this.#services.set(key, counts);
      for (const [kind, count] of counts) this.#totals.set(kind, (this.#totals.get(kind) ?? 0) + count);
    }
  }

  each(see: (policy: FrontendScope, family: IpFamily, count: number) => void): void {
    for (const policy of policies) for (const family of ipFamilies) see(policy, family, this.#totals.get(`${policy} ${family}`) ?? 0);
  }
}

function countsOf(frontends: readonly Frontend[]): Counts {
  const ports = new Map<string, { readonly address: Set<string>; readonly nodePort: Set<string> }>();
  for (const { scope, policy, match, backends, localBackends } of frontends) {
    if (policy !== 'Local' || backends.length === 0 || localBackends.length > 0) continue;
    const kind = `${scope} IPv${frontendFamily(match)}`;
    const seen = ports.get(kind) ?? { address: new Set<string>(), nodePort: new Set<string>() };
    ports.set(kind, seen);
    seen[match.kind].add(`${match.protocol} ${match.port}`);
  }
  // A port of a Service has at most one NodePort, with another number.
  return new Map([...ports].map(([kind, { address, nodePort }]) => [kind, Math.max(address.size, nodePort.size)]));
}
