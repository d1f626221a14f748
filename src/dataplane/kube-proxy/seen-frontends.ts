import { limits } from './limits.ts';

/**
 * mapped: packets have a destination. without: there is no endpoint at all, or none on this node under policy Local, so packets are refused
 * or dropped.
 */
export type MapKind = 'mapped' | 'without';

/** Stores the frontends in kube-proxy's maps, by frontendKey, and which of them changed since the last call of `takeChanges`. */
export class SeenFrontends {
  #parts: Readonly<Record<MapKind, Set<string>>> = { mapped: new Set(), without: new Set() };
  /** Touched frontends, with the result of `has` before they were touched. */
  readonly #before = new Map<string, boolean>();

  has(frontend: string): boolean {
    return this.#parts.mapped.has(frontend) && !this.#parts.without.has(frontend);
  }

  addFrontend(part: MapKind, frontend: string): void {
    if (this.#parts[part].size >= limits.frontends) return;
    this.#touch(frontend);
    this.#parts[part].add(frontend);
  }

  removeFrontend(part: MapKind, frontend: string): void {
    this.#touch(frontend);
    this.#parts[part].delete(frontend);
  }

  replaceFrontends(parts: Readonly<Record<MapKind, ReadonlySet<string>>>): void {
    for (const frontend of [...this.#parts.mapped, ...parts.mapped]) this.#touch(frontend);
    this.#parts = { mapped: new Set(parts.mapped), without: new Set(parts.without) };
  }

  takeChanges(): Set<string> {
    const changed = new Set<string>();
    for (const [frontend, before] of this.#before) if (this.has(frontend) !== before) changed.add(frontend);
    this.#before.clear();
    return changed;
  }

  #touch(frontend: string): void {
    if (!this.#before.has(frontend)) this.#before.set(frontend, this.has(frontend));
  }
}
