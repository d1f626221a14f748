import { elementIdentity, type Element } from './elements.ts';

/** What is in the kernel. Elements may be shared (the address of a Service with two ports): each is counted by its users. */
export class ElementStore {
  readonly #entries = new Map<string, { readonly element: Element; readonly users: number }>();

  get size(): number {
    return this.#entries.size;
  }

  elements(): Element[] {
    return [...this.#entries.values()].map((entry) => entry.element);
  }

  get(identity: string): { readonly element: Element; readonly users: number } | undefined {
    return this.#entries.get(identity);
  }

  /** Records a planned difference, after the kernel has committed it. */
  record(difference: Difference): void {
    for (const [identity, { element, users }] of difference.entries) {
      if (users > 0) this.#entries.set(identity, { element, users });
      else this.#entries.delete(identity);
    }
  }
}

/** The elements that one owner has and is to have. */
export interface ElementChange {
  readonly before: readonly Element[];
  readonly after: readonly Element[];
}

export interface Difference {
  /** To be deleted first; a map element whose value changes is in both lists. */
  readonly deletes: readonly Element[];
  readonly adds: readonly Element[];
  /** For `ElementStore.record`. */
  readonly entries: ReadonlyMap<string, { readonly element: Element; readonly users: number }>;
}

/** The least work that brings the changes into the store. Its cost follows the changes, not the store. */
export function planDifference(store: ElementStore, changes: Iterable<ElementChange>): Difference {
  const touched = new Map<string, { element: Element; users: number }>();
  const touch = (element: Element): { element: Element; users: number } => {
    const identity = elementIdentity(element);
    let entry = touched.get(identity);
    if (entry === undefined) {
      const known = store.get(identity);
      entry = known === undefined ? { element, users: 0 } : { ...known };
      touched.set(identity, entry);
    }
    return entry;
  };
  for (const { before, after } of changes) {
    for (const element of before) touch(element).users--;
    for (const element of after) {
      const entry = touch(element);
      entry.users++;
      entry.element = element;
    }
  }
  const deletes: Element[] = [];
  const adds: Element[] = [];
  for (const [identity, { element, users }] of touched) {
    const known = store.get(identity);
    const stays = users > 0;
    if (known !== undefined && (!stays || known.element.value !== element.value)) deletes.push(known.element);
    if (stays && (known === undefined || known.element.value !== element.value)) adds.push(element);
  }
  return { deletes, adds, entries: touched };
}
