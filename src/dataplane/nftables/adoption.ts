import { SharedElements } from './diff.ts';
import { ElementList, type PackedSet } from '../ruleset/element-list.ts';
import { elementIdentity, type Element } from '../ruleset/element.ts';
import { frontendLength, isOfOneFrontend } from '../ruleset/layout.ts';
import { elementsOf, type Target } from './target.ts';
import type { TimeSlice } from '../../system/time-slice.ts';

/** Everything that some owners want, each element once, and how many want each of those that owners share. */
export interface Wanted {
  readonly elements: ElementList;
  readonly shared: SharedElements;
}

export async function wantedBy(targets: ReadonlyMap<string, Target>, turn: TimeSlice): Promise<Wanted> {
  const elements = new ElementList();
  const shared = new SharedElements();
  for (const target of targets.values()) {
    for (const element of elementsOf(target)) if (shared.use(element) === 1) elements.push(element);
    if (turn.isUsedUp) await turn.yield();
  }
  return { elements, shared };
}

/** What the kernel has, as far as it is not exactly what an owner wants. */
interface Division {
  /** Elements by owner: of those who have others than they want. */
  readonly owned: ReadonlyMap<string, readonly Element[]>;
  /** Nobody's. */
  readonly rest: readonly Element[];
  /** How many have each of the elements that owners share; `rest` counts as one more owner. */
  readonly shared: SharedElements;
}

/**
 * Divides the elements that were found in the kernel among those who are to have elements there, by owner: to a frontend everything
 * under its address and port or its NodePort, whatever its form was, and to everybody what they want themselves. So each
 * owner is brought from its old form to its new one by itself, and when another one is refused nothing of it is touched.
 */
export async function divideFound(
  found: readonly ElementList[],
  { elements: wanted, shared }: Wanted,
  targets: ReadonlyMap<string, Target>,
  turn: TimeSlice,
): Promise<Division> {
  const owned = new Map<string, Element[]>();
  const rest: Element[] = [];
  const { missing, extra } = await compare(found, wanted, turn);
  if (missing.size + extra.length === 0) return { owned, rest, shared };
  for (const identity of missing) shared.forget(identity);
  const extraByFrontend = new Map<string, Element[]>();
  for (const element of extra) {
    if (!isOfOneFrontend(element.set)) {
      rest.push(element);
      continue;
    }
    const frontend = frontendOf(element);
    const others = extraByFrontend.get(frontend);
    if (others === undefined) extraByFrontend.set(frontend, [element]);
    else others.push(element);
  }
  for (const [owner, target] of targets) {
    const elements = elementsOf(target);
    const there = elements.filter((element) => !missing.has(elementIdentity(element)));
    const own = elements.find(({ set }) => isOfOneFrontend(set));
    const others = own === undefined ? undefined : extraByFrontend.get(frontendOf(own));
    if (own !== undefined) extraByFrontend.delete(frontendOf(own));
    if (there.length < elements.length || others !== undefined) owned.set(owner, [...there, ...(others ?? [])]);
    if (turn.isUsedUp) await turn.yield();
  }
  for (const elements of extraByFrontend.values()) for (const element of elements) rest.push(element);
  for (const element of rest) shared.use(element);
  return { owned, rest, shared };
}

export function nothingFound(targets: ReadonlyMap<string, Target>): Division {
  return { owned: new Map(Array.from(targets.keys(), (owner) => [owner, []])), rest: [], shared: new SharedElements() };
}

/** Identities of what is wanted and not there, or there with another value, and what is there and not wanted. */
async function compare(
  found: readonly ElementList[],
  wanted: ElementList,
  turn: TimeSlice,
): Promise<{ readonly missing: ReadonlySet<string>; readonly extra: readonly Element[] }> {
  const missing = new Set<string>();
  const extra: Element[] = [];
  for (const list of found) {
    for (const packed of list.packedSets()) {
      const likely = wanted.packed(packed.family, packed.set);
      if (likely?.equals(packed) === true) continue;
      const left = new Map<string, number>();
      for (let index = 0; index < packed.length; index++) {
        left.set(packed.record(index), index);
        if (turn.isUsedUp) await turn.yield();
      }
      if (likely !== undefined) await without(left, likely, missing, turn);
      for (const index of left.values()) extra.push(packed.at(index));
    }
  }
  for (const packed of wanted.packedSets())
    if (!found.some((list) => list.packed(packed.family, packed.set) !== undefined)) await without(new Map(), packed, missing, turn);
  return { missing, extra };
}

/** Takes what is wanted out of the records that were found; what is not among them is missing. */
async function without(left: Map<string, number>, wanted: PackedSet, missing: Set<string>, turn: TimeSlice): Promise<void> {
  for (let index = 0; index < wanted.length; index++) {
    if (!left.delete(wanted.record(index))) missing.add(elementIdentity(wanted.at(index)));
    if (turn.isUsedUp) await turn.yield();
  }
}

/** The part of a key that names a frontend. */
function frontendOf({ family, set, key }: Element): string {
  return `${family} ${key.slice(0, frontendLength(family, set))}`;
}
