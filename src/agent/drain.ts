import type { ServiceKey } from '../model/metadata.ts';
import { frontendKey, type Backend, type Frontend, type ServiceForwarding } from '../net/frontend.ts';
import type { Cancel, Clock } from '../system/clock.ts';

interface Leaving {
  readonly service: ServiceKey;
  readonly frontend: Frontend;
  /** The call of `leave` that it came with, whose time it has. */
  readonly call: number;
}

/**
 * Keeps the rules of a frontend for a while after its route was withdrawn: routers go on sending until they have heard of it.
 * Each frontend has a time of its own.
 */
export class Drain {
  readonly #clock: Clock;
  readonly #expired: (service: ServiceKey) => void;
  /** By frontendKey: one that drains belongs to one Service at most. */
  readonly #leaving = new Map<string, Leaving>();
  readonly #keys = new Map<ServiceKey, Set<string>>();
  readonly #timers = new Map<number, Cancel>();
  #calls = 0;

  /** `expired` is called when the time of frontends of a Service is over; `keep` then no longer adds them. */
  constructor(clock: Clock, expired: (service: ServiceKey) => void) {
    this.#clock = clock;
    this.#expired = expired;
  }

  /** Starts the time of `frontends`, which the Service no longer has; that of others, which drain already, goes on. */
  leave(service: ServiceKey, frontends: readonly Frontend[], seconds: number): void {
    const call = this.#calls++;
    for (const frontend of frontends) this.#add(frontendKey(frontend.match), { service, frontend, call });
    const cancel = this.#clock.after(seconds * 1000, () => {
      this.#timers.delete(call);
      const over = [...(this.#keys.get(service) ?? [])].filter((key) => this.#leaving.get(key)?.call === call);
      for (const key of over) this.#remove(key);
      if (over.length > 0) this.#expired(service);
    });
    this.#timers.set(call, cancel);
  }

  /**
   * Ends the draining of frontends that `service` now has: an address that was given on belongs to its new holder at once.
   * Returns the Services that drained them.
   */
  giveWay(service: ServiceKey, { frontends }: ServiceForwarding): Set<ServiceKey> {
    const others = new Set<ServiceKey>();
    for (const { match } of frontends) {
      const key = frontendKey(match);
      const leaving = this.#leaving.get(key);
      if (leaving === undefined || leaving.service === service) continue;
      this.#remove(key);
      others.add(leaving.service);
    }
    return others;
  }

  /**
   * The forwarding with the frontends that are draining, where it does not have them anew: with those of their backends that
   * `isAlive`, as nobody else takes a backend away that has ended meanwhile.
   */
  keep(service: ServiceKey, forwarding: ServiceForwarding, isAlive: (backend: Backend) => boolean): ServiceForwarding {
    const keys = this.#keys.get(service);
    if (keys === undefined) return forwarding;
    const frontends = new Map(forwarding.frontends.map((frontend) => [frontendKey(frontend.match), frontend]));
    for (const key of keys) {
      const draining = this.#leaving.get(key)?.frontend;
      if (draining === undefined || frontends.has(key)) continue;
      const { backends, localBackends } = draining;
      frontends.set(key, { ...draining, backends: backends.filter(isAlive), localBackends: localBackends.filter(isAlive) });
    }
    return { frontends: [...frontends].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, frontend]) => frontend) };
  }

  stop(): void {
    for (const cancel of this.#timers.values()) cancel();
    this.#timers.clear();
    this.#leaving.clear();
    this.#keys.clear();
  }

  #add(key: string, leaving: Leaving): void {
    this.#remove(key);
    this.#leaving.set(key, leaving);
    const { service } = leaving;
    this.#keys.set(service, (this.#keys.get(service) ?? new Set<string>()).add(key));
  }

  #remove(key: string): void {
    const service = this.#leaving.get(key)?.service;
    if (service === undefined) return;
    this.#leaving.delete(key);
    const keys = this.#keys.get(service);
    keys?.delete(key);
    if (keys?.size === 0) this.#keys.delete(service);
  }
}
