import { hasBackends } from '../../decisions/forwarding/scope.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { frontendKey, type Backend, type Frontend, type ServiceForwarding } from '../../net/frontend.ts';
import type { Cancel, Clock } from '../../system/clock.ts';

interface DrainingFrontend {
  readonly frontend: Frontend;
  /** The `startDrain` call that added it. Its frontends expire together. */
  readonly call: number;
}

/** Keeps the rules of a frontend until routers have processed the withdrawal of its route. Each frontend has its own deadline. */
export class DrainingFrontends {
  readonly #clock: Clock;
  readonly #onExpired: (service: ServiceKey) => void;
  /** By frontendKey. */
  readonly #draining = new Map<ServiceKey, Map<string, DrainingFrontend>>();
  /** The Services that drain a frontend, by frontendKey. Several Services drain it if they contended for it. */
  readonly #drainedBy = new Map<string, Set<ServiceKey>>();
  readonly #timers = new Map<number, Cancel>();
  #calls = 0;

  /** `onExpired` is called when frontends of a Service have drained. From then on `mergeInto` does not add them. */
  constructor(clock: Clock, onExpired: (service: ServiceKey) => void) {
    this.#clock = clock;
    this.#onExpired = onExpired;
  }

  /** Starts to drain `frontends`, which the Service no longer has. Frontends that drain already keep their deadline. */
  startDrain(service: ServiceKey, frontends: readonly Frontend[], seconds: number): void {
    const call = this.#calls++;
    for (const frontend of frontends) {
      const key = frontendKey(frontend.match);
      this.#draining.set(service, (this.#draining.get(service) ?? new Map<string, DrainingFrontend>()).set(key, { frontend, call }));
      this.#drainedBy.set(key, (this.#drainedBy.get(key) ?? new Set<ServiceKey>()).add(service));
    }
    const cancel = this.#clock.after(seconds * 1000, () => {
      this.#timers.delete(call);
      const over = [...(this.#draining.get(service) ?? [])].filter(([, leaving]) => leaving.call === call);
      for (const [key] of over) this.#remove(service, key);
      if (over.length > 0) this.#onExpired(service);
    });
    this.#timers.set(call, cancel);
  }

  /** Ends the draining of frontends that `service` now has: they are its own at once. Returns the Services that drained them. */
  cancelDrainsOf(service: ServiceKey, { frontends }: ServiceForwarding): Set<ServiceKey> {
    const others = new Set<ServiceKey>();
    for (const { match } of frontends) {
      const key = frontendKey(match);
      for (const other of this.#drainedBy.get(key) ?? []) {
        if (other === service) continue;
        this.#remove(other, key);
        others.add(other);
      }
    }
    return others;
  }

  /**
   * Returns `forwarding` with the Service's draining frontends added. A frontend that `forwarding` defines is replaced only if it has no
   * backend there while its draining form has one. Draining frontends keep only the backends for which `isAlive` holds: no other step
   * removes backends that end during the drain.
   */
  mergeInto(service: ServiceKey, forwarding: ServiceForwarding, isAlive: (backend: Backend) => boolean): ServiceForwarding {
    const leaving = this.#draining.get(service);
    if (leaving === undefined) return forwarding;
    const frontends = new Map(forwarding.frontends.map((frontend) => [frontendKey(frontend.match), frontend]));
    for (const [key, { frontend }] of leaving) {
      const { backends, localBackends } = frontend;
      const kept = { ...frontend, backends: backends.filter(isAlive), localBackends: localBackends.filter(isAlive) };
      const present = frontends.get(key);
      if (present === undefined || (!hasBackends(present) && hasBackends(kept))) frontends.set(key, kept);
    }
    return { frontends: [...frontends].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, frontend]) => frontend) };
  }

  get isEmpty(): boolean {
    return this.#draining.size === 0;
  }

  stop(): void {
    for (const cancel of this.#timers.values()) cancel();
    this.#timers.clear();
    this.#draining.clear();
    this.#drainedBy.clear();
  }

  #remove(service: ServiceKey, key: string): void {
    const leaving = this.#draining.get(service);
    leaving?.delete(key);
    if (leaving?.size === 0) this.#draining.delete(service);
    const services = this.#drainedBy.get(key);
    services?.delete(service);
    if (services?.size === 0) this.#drainedBy.delete(key);
  }
}
