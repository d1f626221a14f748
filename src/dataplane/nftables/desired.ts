import { frontendKey, type Frontend, type ServiceForwarding } from '../../net/frontend.ts';

/**
 * What every service asks for, and which of them owns a frontend when several ask: the one with the smallest key, also when
 * it came last. Who came first is known to nobody after a restart, and another node may have seen it otherwise.
 */
export class DesiredFrontends {
  readonly #services = new Map<string, ReadonlyMap<string, Frontend>>();
  /** Services by frontend, sorted; the first is the owner. */
  readonly #claims = new Map<string, string[]>();
  /** The keys with more than one claim. */
  readonly #contested = new Set<string>();

  /** Sets or (undefined) removes a service; the keys of the frontends whose effective form may have changed. */
  set(service: string, forwarding: ServiceForwarding | undefined): ReadonlySet<string> {
    const before = this.#services.get(service) ?? new Map<string, Frontend>();
    const after = new Map((forwarding?.frontends ?? []).map((frontend) => [frontendKey(frontend.match), frontend]));
    if (forwarding === undefined) this.#services.delete(service);
    else this.#services.set(service, after);
    const touched = new Set<string>();
    for (const key of before.keys()) {
      if (after.has(key)) continue;
      touched.add(key);
      this.#claim(
        key,
        (this.#claims.get(key) ?? []).filter((other) => other !== service),
      );
    }
    for (const key of after.keys()) {
      touched.add(key);
      if (!before.has(key)) this.#claim(key, [...(this.#claims.get(key) ?? []), service].sort());
    }
    return touched;
  }

  /** The effective form of a frontend. */
  get(key: string): { readonly service: string; readonly frontend: Frontend } | undefined {
    const service = this.#claims.get(key)?.[0];
    const frontend = service === undefined ? undefined : this.#services.get(service)?.get(key);
    return service === undefined || frontend === undefined ? undefined : { service, frontend };
  }

  keys(): Iterable<string> {
    return this.#claims.keys();
  }

  services(): Iterable<string> {
    return this.#services.keys();
  }

  /** For each contested frontend its owner, and the services that wait for it. */
  *conflicts(): Iterable<{ readonly key: string; readonly services: readonly string[]; readonly owner: string }> {
    for (const key of this.#contested) {
      const [owner, ...services] = this.#claims.get(key) ?? [];
      if (owner !== undefined) yield { key, services, owner };
    }
  }

  #claim(key: string, services: string[]): void {
    if (services.length === 0) this.#claims.delete(key);
    else this.#claims.set(key, services);
    if (services.length > 1) this.#contested.add(key);
    else this.#contested.delete(key);
  }
}
