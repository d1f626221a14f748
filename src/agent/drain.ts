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
      this.#leaving.delete(service);
      this.#expired(service);
    });
    this.#leaving.set(service, { frontends: all, cancel });
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
  }
}

function withOthers(frontends: readonly Frontend[], others: readonly Frontend[]): Frontend[] {
  const keys = new Set(frontends.map(({ match }) => frontendKey(match)));
  return [...frontends, ...others.filter(({ match }) => !keys.has(frontendKey(match)))];
}
