import type { ForeignForwarding } from '../../dataplane/foreign-forwarding.ts';
import type { HeraldConfig } from '../../model/kinds/types.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { remedyText, reason, reasonText, type Reason } from '../../model/reasons.ts';
import type { Cancel } from '../../system/clock.ts';
import type { Host } from '../../system/host.ts';
import { limits } from '../limits.ts';
import type { Surroundings } from '../../system/random.ts';

export interface ForeignFrontendsComponents extends Surroundings {
  readonly foreign: ForeignForwarding;
  readonly host: Pick<Host, 'uptimeMilliseconds'>;
}

interface ForeignFrontendsOptions {
  readonly config: () => HeraldConfig;
  /** Called when the routes that these Services may announce may differ. */
  readonly onForwardingChanged: (services: ReadonlySet<ServiceKey>) => void;
  /** Called when the results of `problems` and `missingByService` may differ. */
  readonly onStatusChanged: () => void;
}

/**
 * The commit barrier for frontends that HeraldConfig leaves to another program: it tracks which of them that program forwards. If its rules
 * were never visible, Herald cannot tell: routes are announced, and a reason says so. A host that just started gets time first. Rules that
 * were visible and vanish count as gone.
 */
export class ForeignFrontends {
  readonly #components: ForeignFrontendsComponents;
  readonly #options: ForeignFrontendsOptions;
  /** The frontends that each Service leaves to the other program and that have backends, by frontendKey. */
  readonly #expected = new Map<ServiceKey, readonly string[]>();
  readonly #services = new Map<string, Set<ServiceKey>>();
  /** For each Service the first of its frontends that the other program does not forward. */
  readonly #missing = new Map<ServiceKey, string>();
  #everSeen = false;
  #waitUntil = Number.NEGATIVE_INFINITY;
  #cancel: Cancel = () => undefined;

  constructor(components: ForeignFrontendsComponents, options: ForeignFrontendsOptions) {
    this.#components = components;
    this.#options = options;
    components.foreign.onChange((frontends) => this.#changed(frontends));
  }

  async start(): Promise<void> {
    const { foreign, host, clock } = this.#components;
    await foreign.start();
    this.#everSeen = foreign.view.seen;
    const wait = limits.foreignMilliseconds - host.uptimeMilliseconds();
    if (this.#everSeen || wait <= 0) return;
    this.#waitUntil = clock.now() + wait;
    this.#cancel = clock.after(wait, () => this.#changed(undefined));
  }

  async stop(): Promise<void> {
    this.#cancel();
    await this.#components.foreign.stop();
  }

  /** Replaces the frontends that a Service leaves to the other program. */
  expectFrontends(service: ServiceKey, frontends: readonly string[]): void {
    for (const frontend of this.#expected.get(service) ?? []) {
      const services = this.#services.get(frontend);
      services?.delete(service);
      if (services?.size === 0) this.#services.delete(frontend);
    }
    if (frontends.length === 0) this.#expected.delete(service);
    else this.#expected.set(service, frontends);
    for (const frontend of frontends) this.#services.set(frontend, (this.#services.get(frontend) ?? new Set<ServiceKey>()).add(service));
    this.#updateMissing(service);
  }

  /** Returns true if a route that leads to the frontend may be announced. */
  isForwarded(frontend: string): boolean {
    const { foreign, clock } = this.#components;
    if (foreign.view.seen || this.#everSeen) return foreign.has(frontend);
    return clock.now() >= this.#waitUntil;
  }

  /** Returns the Services with a frontend that the other program should forward and does not; for each, one such frontend. */
  missingByService(): ReadonlyMap<ServiceKey, string> {
    return this.#missing;
  }

  /** Returns the program whose rules are on the host: "kube-proxy (iptables)". Absent: none are seen. */
  facts(): { readonly kubeProxy?: string } {
    const { view } = this.#components.foreign;
    return view.seen ? { kubeProxy: view.program } : {};
  }

  /** Returns the problems of the node that come from the other program. */
  problems(): Reason[] {
    const { services, masqueradeBit } = this.#options.config();
    const { view } = this.#components.foreign;
    if (services === 'all') return view.seen ? [reason('KubeProxyBeside', { program: view.program })] : [];
    if (!view.seen) return [reason('ForwardingNotSeen', { scope: services, why: view.unavailableBecause ?? '' })];
    const isShared = services === 'external' && view.masqueradeBits.includes(masqueradeBit);
    return isShared ? [reason('MasqueradeBitShared', { bit: masqueradeBit, program: view.program })] : [];
  }

  #changed(frontends: ReadonlySet<string> | undefined): void {
    const { foreign, log } = this.#components;
    if (frontends === undefined) {
      log.info({ view: foreign.view }, 'the visible rules of another forwarding program changed');
      for (const problem of this.problems())
        log.warn({ problem: reasonText(problem), fix: remedyText(problem) }, 'another program forwards on this node');
    }
    if (foreign.view.seen) this.#everSeen = true;
    const services = frontends === undefined ? new Set(this.#expected.keys()) : this.#servicesOf(frontends);
    for (const service of services) this.#updateMissing(service);
    if (services.size > 0) this.#options.onForwardingChanged(services);
    this.#options.onStatusChanged();
  }

  #servicesOf(frontends: ReadonlySet<string>): Set<ServiceKey> {
    return new Set([...frontends].flatMap((frontend) => [...(this.#services.get(frontend) ?? [])]));
  }

  #updateMissing(service: ServiceKey): void {
    const first = this.#expected.get(service)?.find((frontend) => !this.isForwarded(frontend));
    if (first === undefined) this.#missing.delete(service);
    else this.#missing.set(service, first);
  }
}
