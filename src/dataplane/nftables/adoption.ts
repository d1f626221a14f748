import type { SharedElements } from './diff.ts';
import { elementIdentity, type Element } from './elements.ts';
import { frontendLength, isOfOneFrontend, type SetName } from './layout.ts';
import { elementsOf, type Target } from './target.ts';
import type { Turn } from './turn.ts';

/** What the kernel has, as far as it is not exactly what an owner wants. */
export interface Division {
  /** Elements by owner: of those who have others than they want. */
  readonly owned: ReadonlyMap<string, readonly Element[]>;
  /** Nobody's. */
  readonly rest: readonly Element[];
}

/**
 * Divides the elements that were found in the kernel among those who are to have elements there, by owner: to a frontend everything
 * under its address and port or its NodePort, whatever its form was, and to everybody what they want themselves. So each
 * owner is brought from its old form to its new one by itself, and when another one is refused nothing of it is touched.
 * `shared` hears of every element that is found and wanted.
 */
export async function divideFound(
  found: Iterable<Element>,
  targets: ReadonlyMap<string, Target>,
  shared: SharedElements,
  turn: Turn,
): Promise<Division> {
  const left = await Leftovers.of(found, turn);
  const owned = new Map<string, Element[]>();
  const wanted = new Set<string>();
  for (const [owner, target] of targets) {
    if (turn.isOver) await turn.end();
    const there: Element[] = [];
    const elements = elementsOf(target);
    for (const element of elements) {
      if (!left.has(element)) continue;
      there.push(element);
      shared.use(element);
      if (isOfOneFrontend(element.set)) left.take(element);
      else wanted.add(elementIdentity(element));
    }
    if (there.length < elements.length) owned.set(owner, there);
  }
  const rest: Element[] = [];
  const owners = left.isEmpty ? new Map<string, string>() : ownersOf(targets);
  for (const element of left) {
    const owner = isOfOneFrontend(element.set) ? owners.get(frontendOf(element)) : undefined;
    const target = owner === undefined ? undefined : targets.get(owner);
    if (owner !== undefined && target !== undefined) {
      const others = owned.get(owner);
      if (others === undefined) owned.set(owner, [...elementsOf(target), element]);
      else others.push(element);
    } else if (!wanted.has(elementIdentity(element))) rest.push(element);
  }
  return { owned, rest };
}

/** Found elements that nobody has taken yet. */
class Leftovers implements Iterable<Element> {
  /** By family and set, and then by key. */
  readonly #sets = new Map<string, Map<string, Element>>();

  static async of(found: Iterable<Element>, turn: Turn): Promise<Leftovers> {
    const left = new Leftovers();
    for (const element of found) {
      left.#setOf(element).set(element.key, element);
      if (turn.isOver) await turn.end();
    }
    return left;
  }

  get isEmpty(): boolean {
    return [...this.#sets.values()].every(({ size }) => size === 0);
  }

  /** With this value. */
  has(element: Element): boolean {
    const known = this.#setOf(element).get(element.key);
    return known !== undefined && known.value === element.value;
  }

  take(element: Element): void {
    this.#setOf(element).delete(element.key);
  }

  *[Symbol.iterator](): Generator<Element> {
    for (const elements of this.#sets.values()) yield* elements.values();
  }

  #setOf({ family, set }: { readonly family: number; readonly set: SetName }): Map<string, Element> {
    const where = `${family} ${set}`;
    let elements = this.#sets.get(where);
    if (elements === undefined) this.#sets.set(where, (elements = new Map()));
    return elements;
  }
}

function ownersOf(targets: ReadonlyMap<string, Target>): Map<string, string> {
  const owners = new Map<string, string>();
  for (const [owner, target] of targets) {
    const element = elementsOf(target).find(({ set }) => isOfOneFrontend(set));
    if (element !== undefined) owners.set(frontendOf(element), owner);
  }
  return owners;
}

/** The part of a key that names a frontend. */
function frontendOf({ family, set, key }: Element): string {
  return `${family} ${key.slice(0, frontendLength(family, set))}`;
}
