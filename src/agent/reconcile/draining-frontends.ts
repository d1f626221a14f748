import { hasBackends } from '../../decisions/forwarding/scope.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { frontendKey, type Backend, type Frontend, type ServiceForwarding } from '../../net/frontend.ts';
import type { Cancel, Clock } from '../../system/clock.ts';

interface DrainingFrontend {
  readonly frontend: Frontend;
  /** The call of `leave` that it came with, whose time it has. */
  readonly call: number;
}

/**
 * Keeps the rules of a frontend for a while after its route was withdrawn: routers go on sending until they have heard of it.
 * Each frontend has a time of its own.
 */
export class DrainingFrontends {
  readonly #clock: Clock;
  readonly #expired: (service: ServiceKey) => void;
  /** By frontendKey. */
  readonly #draining = new Map<ServiceKey, Map<string, DrainingFrontend>>();
  /** Who drains a frontend, by frontendKey: several where they contended for it. */
  readonly #drainedBy = new Map<string, Set<ServiceKey>>();
  readonly #timers = new Map<number, Cancel>();
  #calls = 0;

  /** `expired` is called when the time of frontends of a Service is over; `keep` then no longer adds them. */
  constructor(clock: Clock, expired: (service: ServiceKey) => void) {
    this.#clock = clock;
    this.#expired = expired;
  }

  /** Starts the time of `frontends`, which the Service no longer has; that of others, which drain already, goes on. */
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
      if (over.length > 0) this.#expired(service);
    });
    this.#timers.set(call, cancel);
  }

  /**
   * Ends the draining of frontends that `service` now has: an address that was given on belongs to its new holder at once.
   * Returns the Services that drained them.
   */
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
   * The forwarding with the frontends that are draining, where it does not have them anew or has no backend behind them while those
   * from before have: with those of their backends that `isAlive`, as nobody else takes a backend away that has ended meanwhile.
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
