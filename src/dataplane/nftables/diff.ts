import { ElementList } from '../ruleset/element-list.ts';
import type { Family } from '../../net/address.ts';
import { elementIdentity, type Element, type ElementSink } from '../ruleset/element.ts';
import { isOfOneFrontend, type SetName } from '../ruleset/layout.ts';
import type { Octets } from '../ruleset/octets.ts';

/** The present and the desired elements of one owner. */
interface ElementChange {
  readonly before: Iterable<Element>;
  readonly after: Iterable<Element>;
}

/** An element that several owners may share, with the number of owners that use it. */
interface SharedElement {
  readonly element: Element;
  readonly users: number;
}

/** A shared element that changes touch. */
interface TouchedElement {
  /** Its form in the kernel. Undefined: it is not there. */
  readonly known: Element | undefined;
  element: Element;
  users: number;
}

/**
 * Counts the users of elements in the kernel that several owners may share, such as the address of a Service with two ports. All other
 * elements belong to the frontend named in their key and need no count.
 */
export class SharedElements {
  readonly #users = new Map<string, SharedElement>();

  usersOf(identity: string): SharedElement | undefined {
    return this.#users.get(identity);
  }

  /** Adds one user. Returns the new number of users; 1 for an element that belongs to one frontend, which is not stored. */
  addUser(element: Element): number {
    if (isOfOneFrontend(element.set)) return 1;
    const identity = elementIdentity(element);
    const users = (this.#users.get(identity)?.users ?? 0) + 1;
    this.#users.set(identity, { element, users });
    return users;
  }

  /** Removes the element, whatever its number of users. */
  forgetElement(identity: string): void {
    this.#users.delete(identity);
  }

  /** Records a planned difference after the kernel has committed it. */
  recordDifference({ shared }: Pick<Difference, 'shared'>): void {
    for (const [identity, { element, users }] of shared) {
      if (users > 0) this.#users.set(identity, { element, users });
      else this.#users.delete(identity);
    }
  }
}

/**
 * The smallest set of element changes for a batch. Its cost depends on the changes, not on the size of the tables. As a sink, it receives
 * the elements of an owner that has none in the kernel.
 */
export class Difference implements ElementSink {
  /** Deleted before the additions. A map element whose value changes is in both lists. */
  readonly deletes = new ElementList();
  readonly adds = new ElementList();
  /**
   * Deleted in a later transaction: a packet that was translated before the first transaction still needs its hairpin element until it has
   * left the node.
   */
  readonly laterDeletes = new ElementList();
  readonly #known: SharedElements;
  readonly #pending: Difference | undefined;
  readonly #shared = new Map<string, TouchedElement>();

  /** `pending`: a difference that is being committed. This one is correct if that succeeds. */
  constructor(known: SharedElements, pending?: Difference) {
    this.#known = known;
    this.#pending = pending;
  }

  get size(): number {
    return this.deletes.size + this.adds.size;
  }

  /** The shared elements that the changes touched, for `SharedElements.recordDifference`. */
  get shared(): ReadonlyMap<string, SharedElement> {
    return this.#shared;
  }

  includeChange({ before, after }: ElementChange): void {
    const own = new Map<string, Element>();
    for (const element of before) {
      if (isOfOneFrontend(element.set)) own.set(elementIdentity(element), element);
      else this.#touch(element).users--;
    }
    for (const element of after) {
      const identity = own.size === 0 || !isOfOneFrontend(element.set) ? '' : elementIdentity(element);
      const known = own.get(identity);
      if (known === undefined) {
        this.push(element);
        continue;
      }
      own.delete(identity);
      this.#replace(known, element);
    }
    for (const element of own.values()) this.deletes.push(element);
  }

  push(element: Element): void {
    if (isOfOneFrontend(element.set)) {
      this.adds.push(element);
      return;
    }
    const entry = this.#touch(element);
    entry.users++;
    entry.element = element;
  }

  pushSlots(family: Family, set: SetName, frontend: Octets, values: readonly Octets[]): void {
    this.adds.pushSlots(family, set, frontend, values);
  }

  /** Called after the last change: deletes a shared element with its last user and adds it with its first. */
  complete(): this {
    for (const { known, element, users } of this.#shared.values()) {
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

  #touch(element: Element): TouchedElement {
    const identity = elementIdentity(element);
    let entry = this.#shared.get(identity);
    if (entry === undefined) {
      const known = this.#usersOf(identity);
      entry = { known: known?.element, element: known?.element ?? element, users: known?.users ?? 0 };
      this.#shared.set(identity, entry);
    }
    return entry;
  }

  #usersOf(identity: string): SharedElement | undefined {
    const pending = this.#pending?.shared.get(identity);
    if (pending === undefined) return this.#known.usersOf(identity);
    return pending.users > 0 ? pending : undefined;
  }
}
