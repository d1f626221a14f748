import type { ForeignForwarding } from '../../dataplane/foreign-forwarding.ts';
import type { HeraldConfig } from '../../model/kinds/types.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { remedyText, reason, reasonText, type Reason } from '../../model/reasons.ts';
import type { Cancel, Clock } from '../../system/clock.ts';
import type { Host } from '../../system/host.ts';
import type { Log } from '../../system/log.ts';
import { limits } from '../limits.ts';

export interface ForeignFrontendsComponents {
  readonly foreign: ForeignForwarding;
  readonly host: Pick<Host, 'uptimeMilliseconds'>;
  readonly clock: Clock;
  readonly log: Log;
}

interface ForeignFrontendsOptions {
  readonly config: () => HeraldConfig;
  /** What these Services may announce may differ. */
  readonly onForwardingChanged: (services: ReadonlySet<ServiceKey>) => void;
  /** What `problems` and `missing` say may differ. */
  readonly onStatusChanged: () => void;
}

/**
 * The part of the commit barrier for frontends that HeraldConfig leaves to another program: whether that one has them, as far as can
 * be seen. Where nothing was ever seen, nobody knows: routes go out, and a reason says so. A host that has just started is given
 * time first. What was seen and is seen no more is gone.
 */
export class ForeignFrontends {
  readonly #components: ForeignFrontendsComponents;
  readonly #options: ForeignFrontendsOptions;
  /** By Service: the frontends that are left to the other program and have somewhere to go, by frontendKey. */
  readonly #expected = new Map<ServiceKey, readonly string[]>();
  readonly #services = new Map<string, Set<ServiceKey>>();
  /** By Service: the first of them that is not there. */
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

  /** What a Service leaves to the other program, in place of what it left before. */
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

  /** Whether a route that leads to the frontend may go out. */
  isForwarded(frontend: string): boolean {
    const { foreign, clock } = this.#components;
    if (foreign.view.seen || this.#everSeen) return foreign.has(frontend);
    return clock.now() >= this.#waitUntil;
  }

  /** The Services that the other program does not forward as it should, each with one frontend. */
  missingByService(): ReadonlyMap<ServiceKey, string> {
    return this.#missing;
  }

  /** What is to be said of the node. */
  problems(): Reason[] {
    const { services, masqueradeBit } = this.#options.config();
    const { view } = this.#components.foreign;
    if (services === 'all') return view.seen ? [reason('KubeProxyBeside', { program: view.program })] : [];
    if (!view.seen) return [reason('ForwardingNotSeen', { scope: services, why: view.why ?? '' })];
    const isShared = services === 'external' && view.masqueradeBits.includes(masqueradeBit);
    return isShared ? [reason('MasqueradeBitShared', { bit: masqueradeBit, program: view.program })] : [];
  }

  #changed(frontends: ReadonlySet<string> | undefined): void {
    const { foreign, log } = this.#components;
    if (frontends === undefined) {
      log.info({ view: foreign.view }, 'what can be seen of another program that forwards has changed');
      for (const problem of this.problems())
        log.warn({ problem: reasonText(problem), fix: remedyText(problem) }, 'beside another program that forwards');
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
