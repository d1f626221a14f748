import type { ServiceKey } from '../model/metadata.ts';
import { frontendKey, type Frontend, type ServiceForwarding } from '../net/frontend.ts';
import type { Cancel, Clock } from '../system/clock.ts';

interface Leaving {
  readonly frontends: readonly Frontend[];
  readonly cancel: Cancel;
}

/**
 * Keeps the rules of a frontend for a while after its route was withdrawn: routers go on sending until they have heard of it.
 */
export class Drain {
  readonly #clock: Clock;
  readonly #expired: (service: ServiceKey) => void;
  readonly #leaving = new Map<ServiceKey, Leaving>();
  /** Who is draining a frontend, by frontendKey. */
  readonly #drainedBy = new Map<string, ServiceKey>();

  /** `expired` is called when the time of a Service's frontends is over; `keep` then no longer adds them. */
  constructor(clock: Clock, expired: (service: ServiceKey) => void) {
    this.#clock = clock;
    this.#expired = expired;
  }

  /** Starts the time of `frontends`, which the Service no longer has; those already draining begin anew with them. */
  leave(service: ServiceKey, frontends: readonly Frontend[], seconds: number): void {
    const before = this.#leaving.get(service);
    before?.cancel();
    const all = withOthers(frontends, before?.frontends ?? []);
    const cancel = this.#clock.after(seconds * 1000, () => {
      this.#forget(service);
      this.#expired(service);
    });
    this.#leaving.set(service, { frontends: all, cancel });
    for (const { match } of all) this.#drainedBy.set(frontendKey(match), service);
  }

  /**
   * Ends the draining of frontends that `service` now has: an address that was given on belongs to its new holder at once.
   * Returns the Services that drained them.
   */
  giveWay(service: ServiceKey, { frontends }: ServiceForwarding): Set<ServiceKey> {
    const others = new Set<ServiceKey>();
    for (const { match } of frontends) {
      const key = frontendKey(match);
      const other = this.#drainedBy.get(key);
      const leaving = other === undefined ? undefined : this.#leaving.get(other);
      if (other === undefined || other === service || leaving === undefined) continue;
      this.#drainedBy.delete(key);
      this.#leaving.set(other, { ...leaving, frontends: leaving.frontends.filter((frontend) => frontendKey(frontend.match) !== key) });
      others.add(other);
    }
    return others;
  }

  /** The forwarding with the frontends that are draining, where it does not have them anew. */
  keep(service: ServiceKey, forwarding: ServiceForwarding): ServiceForwarding {
    const leaving = this.#leaving.get(service);
    if (leaving === undefined) return forwarding;
    const frontends = withOthers(forwarding.frontends, leaving.frontends);
    return { frontends: frontends.toSorted((a, b) => (frontendKey(a.match) < frontendKey(b.match) ? -1 : 1)) };
  }

  get draining(): number {
    return this.#leaving.size;
  }

  stop(): void {
    for (const { cancel } of this.#leaving.values()) cancel();
    this.#leaving.clear();
    this.#drainedBy.clear();
  }

  #forget(service: ServiceKey): void {
    for (const { match } of this.#leaving.get(service)?.frontends ?? []) {
      if (this.#drainedBy.get(frontendKey(match)) === service) this.#drainedBy.delete(frontendKey(match));
    }
    this.#leaving.delete(service);
  }
}

function withOthers(frontends: readonly Frontend[], others: readonly Frontend[]): Frontend[] {
  const keys = new Set(frontends.map(({ match }) => frontendKey(match)));
  return [...frontends, ...others.filter(({ match }) => !keys.has(frontendKey(match)))];
}
