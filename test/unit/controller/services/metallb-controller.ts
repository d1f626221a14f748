import type { FakeServices } from '../../sources/kubernetes/fake-services.ts';

interface RawService {
  readonly metadata: { readonly resourceVersion: string; readonly uid: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: { readonly type?: string; readonly loadBalancerClass?: string };
  readonly status?: { readonly loadBalancer?: { readonly ingress?: readonly { readonly ip: string }[] } };
}

/**
 * MetalLB's controller, as far as another controller on the same Services notices it (its documented rules of converging). It keeps
 * addresses in the status that its pools contain and that no other Service holds, whichever program wrote them. It clears others and
 * assigns new ones. It meets requests.
 */
export class MetalLBController {
  readonly #server: FakeServices;
  readonly #held = new Map<string, string>();
  pool: readonly string[];
  writes = 0;

  constructor(server: FakeServices, pool: readonly string[]) {
    this.#server = server;
    this.pool = pool;
  }

  /** Handles a change that its watch reports. */
  see(key: string, object: unknown): void {
    if (object === undefined) return void this.#held.delete(key);
    const service = object as RawService;
    if (service.spec.type !== 'LoadBalancer' || service.spec.loadBalancerClass !== undefined) return void this.#held.delete(key);
    const [found] = service.status?.loadBalancer?.ingress?.map(({ ip }) => ip) ?? [];
    const next = this.#converge(key, service, found);
    if (next !== found) this.#write(key, service, next);
  }

  #converge(key: string, { metadata }: RawService, found: string | undefined): string | undefined {
    const wanted = metadata.annotations?.['metallb.io/loadBalancerIPs'];
    this.#held.delete(key);
    const usable = (address: string): boolean => this.pool.includes(address) && ![...this.#held.values()].includes(address);
    const keeps = found !== undefined && usable(found) && (wanted === undefined || wanted === found);
    const next = keeps ? found : wanted === undefined ? this.pool.find(usable) : usable(wanted) ? wanted : undefined;
    if (next !== undefined) this.#held.set(key, next);
    return next;
  }

  /** Writes based on the version it saw. After a conflict the write is refused, and the watch reports the new version next. */
  #write(key: string, { metadata }: RawService, address: string | undefined): void {
    const there = this.#server.objects.get(key) as unknown as RawService | undefined;
    if (there?.metadata.resourceVersion !== metadata.resourceVersion) return;
    this.writes++;
    const status = { ...there.status, loadBalancer: address === undefined ? {} : { ingress: [{ ip: address, ipMode: 'VIP' }] } };
    this.#server.put(key, { status, metadata: there.metadata }, metadata.uid);
  }
}
