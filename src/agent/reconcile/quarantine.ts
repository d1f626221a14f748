import type { QuarantinedFrontend } from '../../dataplane/dataplane.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Clock } from '../../system/clock.ts';
import type { Random } from '../../system/random.ts';
import { RetryTimer } from './retry-timer.ts';

/**
 * The frontends whose latest form the kernel does not have, by the data plane's latest answer. Frontends that the kernel refused are
 * retried with back-off.
 */
export class Quarantine {
  readonly #retry: RetryTimer;
  #frontends: ReadonlyMap<string, QuarantinedFrontend> = new Map();

  /**
   * `requeue` is called with the Services of refused frontends: the cause of the refusal may have passed without any change of an object.
   */
  constructor(components: { readonly clock: Clock; readonly random: Random }, requeue: (services: Iterable<ServiceKey>) => void) {
    this.#retry = new RetryTimer(components, () => requeue(new Set(this.#refused())));
  }

  get frontends(): ReadonlyMap<string, QuarantinedFrontend> {
    return this.#frontends;
  }

  /** Takes the data plane's latest answer. Returns the Services that depend on a frontend that entered or left quarantine. */
  update(frontends: ReadonlyMap<string, QuarantinedFrontend>): Set<ServiceKey> {
    const before = this.#frontends;
    this.#frontends = frontends;
    const services = new Set<ServiceKey>();
    for (const frontend of new Set([...before.keys(), ...frontends.keys()])) {
      const [then, now] = [concerned(before.get(frontend)), concerned(frontends.get(frontend))];
      if (then.join() === now.join()) continue;
      for (const service of [...then, ...now]) services.add(service);
    }
    if (this.#refused().length === 0) this.#retry.succeeded();
    else if (!this.#retry.waiting) this.#retry.failed();
    return services;
  }

  /** Returns the Services that wait for a frontend that one of `services` has. */
  waitingFor(services: ReadonlySet<string>): ServiceKey[] {
    const waiting = [...this.#frontends.values()].filter(({ owner }) => owner !== undefined && services.has(owner));
    return waiting.flatMap(({ services }) => services as readonly ServiceKey[]);
  }

  stop(): void {
    this.#retry.stop();
  }

  #refused(): ServiceKey[] {
    return [...this.#frontends.values()].flatMap(({ owner, services }) => (owner === undefined ? (services as readonly ServiceKey[]) : []));
  }
}

/** Returns the Services whose announcements depend on a frontend in quarantine: its owner, and the Services that wait for it. */
function concerned(entry: QuarantinedFrontend | undefined): readonly ServiceKey[] {
  return [entry?.owner ?? [], entry?.services ?? []].flat() as readonly ServiceKey[];
}
