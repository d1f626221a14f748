import { ElementList } from '../ruleset/element-list.ts';
import { elementIdentity, type Element } from '../ruleset/element.ts';
import { isOfOneFrontend } from '../ruleset/layout.ts';

/** The elements that one owner has and is to have. */
interface ElementChange {
  readonly before: Iterable<Element>;
  readonly after: Iterable<Element>;
}

/** Elements by identity, with the number of owners that use each. */
type Users = ReadonlyMap<string, { readonly element: Element; readonly users: number }>;

/**
 * The elements in the kernel that owners may share, such as the address of a Service with two ports, each counted by its
 * users. All others belong to the frontend that their key names, and nobody needs to remember them.
 */
export class SharedElements {
  readonly #users = new Map<string, { readonly element: Element; readonly users: number }>();

  get(identity: string): { readonly element: Element; readonly users: number } | undefined {
    return this.#users.get(identity);
  }

  /** One more owner has it. How many do now; 1 for those of one frontend, which are not remembered. */
  use(element: Element): number {
    if (isOfOneFrontend(element.set)) return 1;
    const identity = elementIdentity(element);
    const users = (this.#users.get(identity)?.users ?? 0) + 1;
    this.#users.set(identity, { element, users });
    return users;
  }

  /** Nobody has it. */
  forget(identity: string): void {
    this.#users.delete(identity);
  }

  /** Records a planned difference, after the kernel has committed it. */
  record({ shared }: Pick<Difference, 'shared'>): void {
    for (const [identity, entry] of shared) {
      if (entry.users > 0) this.#users.set(identity, entry);
      else this.#users.delete(identity);
    }
  }
}

/** The least work that brings some changes into the kernel. Its cost follows the changes, not what is there. */
export class Difference {
  /** To be deleted first; a map element whose value changes is in both lists. */
  readonly deletes = new ElementList();
  readonly adds = new ElementList();
  /** To be deleted by a transaction after that: the pod of a packet that was translated before it still counts until it has left. */
  readonly laterDeletes = new ElementList();
  readonly #known: SharedElements;
  readonly #shared = new Map<string, { element: Element; users: number }>();

  constructor(known: SharedElements) {
    this.#known = known;
  }

  get size(): number {
    return this.deletes.size + this.adds.size;
  }

  /** Of the elements that changes touched: for `SharedElements.record`. */
  get shared(): Users {
    return this.#shared;
  }

  include({ before, after }: ElementChange): void {
    const own = new Map<string, Element>();
    for (const element of before) {
      if (isOfOneFrontend(element.set)) own.set(elementIdentity(element), element);
      else this.#touch(element).users--;
    }
    for (const element of after) {
      if (!isOfOneFrontend(element.set)) {
        const entry = this.#touch(element);
        entry.users++;
        entry.element = element;
        continue;
      }
      const identity = own.size === 0 ? '' : elementIdentity(element);
      const known = own.get(identity);
      if (known !== undefined) own.delete(identity);
      this.#replace(known, element);
    }
    for (const element of own.values()) this.deletes.push(element);
  }

  /** After the last change: what is shared goes with its last user and comes with its first. */
  complete(): this {
    for (const [identity, { element, users }] of this.#shared) {
      const known = this.#known.get(identity)?.element;
      if (users > 0) this.#replace(known, element);
      else if (known !== undefined) (known.set === 'hairpins' ? this.laterDeletes : this.deletes).push(known);
    }
    return this;
  }

  #replace(known: Element | undefined, element: Element): void {
    if (known !== undefined) {
      if (known.value === element.value) return;
      this.deletes.push(known);
    }
    this.adds.push(element);
  }

  #touch(element: Element): { element: Element; users: number } {
    const identity = elementIdentity(element);
    let entry = this.#shared.get(identity);
    if (entry === undefined) {
      const known = this.#known.get(identity);
      entry = known === undefined ? { element, users: 0 } : { ...known };
      this.#shared.set(identity, entry);
    }
    return entry;
  }
}
