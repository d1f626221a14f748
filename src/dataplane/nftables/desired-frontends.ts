import { frontendKey, type Frontend, type ServiceForwarding } from '../../net/frontend.ts';
import type { OwnedFrontend } from '../dataplane.ts';

/**
 * Stores what every Service asks for, and decides which Service owns a frontend that several ask for: the one with the smallest key, even
 * if it came last. After a restart the agent cannot know which came first, and another node may have seen another order.
 */
export class DesiredFrontends {
  readonly #services = new Map<string, ServiceForwarding>();
  readonly #owners = new Map<string, OwnedFrontend>();
  /** By frontend, sorted: the Services that ask for it besides its owner. */
  readonly #waiting = new Map<string, readonly string[]>();

  /** Sets or (undefined) removes a Service. Returns the keys of the frontends whose effective form may have changed, each once. */
  setForwarding(service: string, forwarding: ServiceForwarding | undefined): readonly string[] {
    const touched: string[] = [];
    const before = this.#services.get(service);
    if (forwarding === undefined) this.#services.delete(service);
    else this.#services.set(service, forwarding);
    for (const frontend of forwarding?.frontends ?? []) {
      const key = frontendKey(frontend.match);
      touched.push(key);
      this.#claim(key, service, frontend);
    }
    if (before === undefined || before.frontends.length === 0) return touched;
    const claimed = new Set(touched);
    for (const { match } of before.frontends) {
      const key = frontendKey(match);
      if (claimed.has(key)) continue;
      touched.push(key);
      this.#release(key, service);
    }
    return touched;
  }

  /** Returns the frontend in the form that its owner asks for. */
  effectiveFrontend(key: string): OwnedFrontend | undefined {
    return this.#owners.get(key);
  }

  keys(): Iterable<string> {
    return this.#owners.keys();
  }

  services(): Iterable<string> {
    return this.#services.keys();
  }

  /** Yields each contested frontend with its owner and the Services that wait for it. */
  *conflicts(): Iterable<{ readonly key: string; readonly services: readonly string[]; readonly owner: string }> {
    for (const [key, services] of this.#waiting) {
      const owner = this.#owners.get(key)?.service;
      if (owner !== undefined) yield { key, services, owner };
    }
  }

  #claim(key: string, service: string, frontend: Frontend): void {
    const owner = this.#owners.get(key);
    if (owner === undefined || owner.service === service) {
      this.#owners.set(key, { service, frontend });
      return;
    }
    const waiting = this.#waiting.get(key) ?? [];
    if (service < owner.service) {
      this.#owners.set(key, { service, frontend });
      this.#wait(key, [...waiting.filter((other) => other !== service), owner.service]);
    } else if (!waiting.includes(service)) {
      this.#wait(key, [...waiting, service]);
    }
  }

  #release(key: string, service: string): void {
    const [next, ...others] = this.#waiting.get(key) ?? [];
    if (this.#owners.get(key)?.service !== service) {
      this.#wait(
        key,
        (this.#waiting.get(key) ?? []).filter((other) => other !== service),
      );
      return;
    }
    const frontend = next === undefined ? undefined : this.#services.get(next)?.frontends.find(({ match }) => frontendKey(match) === key);
    if (next === undefined || frontend === undefined) this.#owners.delete(key);
    else this.#owners.set(key, { service: next, frontend });
    this.#wait(key, others);
  }

  #wait(key: string, services: readonly string[]): void {
    if (services.length === 0) this.#waiting.delete(key);
    else this.#waiting.set(key, services.toSorted());
  }
}
