import { SharedElements } from './diff.ts';
import { ElementList, PackedSet } from '../ruleset/element-list.ts';
import { PackedIndex } from '../ruleset/packed-index.ts';
import { elementIdentity, type Element, type ElementSink } from '../ruleset/element.ts';
import { frontendLength, isOfOneFrontend } from '../ruleset/layout.ts';
import { addTargetElements, targetElements, type Target } from './target.ts';
import type { TimeSlice } from '../../system/time-slice.ts';

/** The desired elements of several owners, each element once, with the number of owners of each shared element. */
export interface DesiredElements {
  readonly elements: ElementList;
  readonly shared: SharedElements;
}

export async function desiredElements(targets: ReadonlyMap<string, Target>, timeSlice: TimeSlice): Promise<DesiredElements> {
  const elements = new ElementList();
  const shared = new SharedElements();
  const sink: ElementSink = {
    push(element) {
      if (shared.addUser(element) === 1) elements.push(element);
    },
    pushSlots: (...slots) => elements.pushSlots(...slots),
  };
  for (const target of targets.values()) {
    addTargetElements(target, sink);
    if (timeSlice.isUsedUp) await timeSlice.yield();
  }
  return { elements, shared };
}

/** Elements found in the kernel that differ from the desired ones. */
export interface FoundElements {
  /** Present elements by owner, of owners whose elements differ from the desired ones. */
  readonly owned: ReadonlyMap<string, readonly Element[]>;
  /** Elements without an owner. */
  readonly rest: readonly Element[];
  /** The number of owners that have each shared element. `rest` counts as one more owner. */
  readonly shared: SharedElements;
}

/**
 * Assigns the elements found in the kernel to owners. A frontend gets everything under its address and port or its NodePort, whatever form
 * it had; every owner gets the elements that it wants itself. Each owner is then changed from its old form to its new one separately, so a
 * refused owner does not affect the others.
 */
export async function groupByOwner(
  found: readonly ElementList[],
  { elements: wanted, shared }: DesiredElements,
  targets: ReadonlyMap<string, Target>,
  timeSlice: TimeSlice,
): Promise<FoundElements> {
  const owned = new Map<string, Element[]>();
  const { missing, extra } = await compareElements(found, wanted, timeSlice);
  if (missing.size + extra.length === 0) return { owned, rest: [], shared };
  for (const identity of missing.keys()) shared.forgetElement(identity);
  const frontends = new Set([...missing.values(), ...extra].filter(({ set }) => isOfOneFrontend(set)).map(frontendPrefix));
  const { ofFrontends = [], rest = [] } = Object.groupBy(extra, ({ set }) => (isOfOneFrontend(set) ? 'ofFrontends' : 'rest'));
  const extraByFrontend = Map.groupBy(ofFrontends, frontendPrefix);
  for (const [owner, target] of targets) {
    if (timeSlice.isUsedUp) await timeSlice.yield();
    const elements = targetElements(target);
    const own = elements.find(({ set }) => isOfOneFrontend(set));
    const frontend = own === undefined ? '' : frontendPrefix(own);
    const isMissing = (element: Element): boolean => missing.has(elementIdentity(element));
    if (!frontends.has(frontend) && !elements.some((element) => !isOfOneFrontend(element.set) && isMissing(element))) continue;
    const there = elements.filter((element) => !isMissing(element));
    const others = extraByFrontend.get(frontend);
    extraByFrontend.delete(frontend);
    if (there.length < elements.length || others !== undefined) owned.set(owner, [...there, ...(others ?? [])]);
  }
  for (const elements of extraByFrontend.values()) for (const element of elements) rest.push(element);
  for (const element of rest) shared.addUser(element);
  return { owned, rest, shared };
}

const elementsPerLook = 256;

/** Returns, by identity, the desired elements that are absent or have another value, and the present elements that are not desired. */
async function compareElements(
  found: readonly ElementList[],
  wanted: ElementList,
  timeSlice: TimeSlice,
): Promise<{ readonly missing: ReadonlyMap<string, Element>; readonly extra: readonly Element[] }> {
  const missing = new Map<string, Element>();
  const addMissing = (element: Element): void => void missing.set(elementIdentity(element), element);
  const extra: Element[] = [];
  for (const list of found) {
    for (const packed of list.packedSets()) {
      const desired = wanted.packed(packed.family, packed.set) ?? new PackedSet(packed.family, packed.set);
      if (desired.equals(packed)) continue;
      const indexOf = new PackedIndex(desired);
      const present = new Uint8Array(desired.length);
      for (let index = 0; index < packed.length; index++) {
        const at = indexOf.find(packed, index);
        if (at >= 0 && desired.hasRecord(at, packed, index)) present[at] = 1;
        else extra.push(packed.at(index));
        // Reading the clock takes longer than comparing an element.
        if (index % elementsPerLook === 0 && timeSlice.isUsedUp) await timeSlice.yield();
      }
      for (const [at, isPresent] of present.entries()) if (isPresent === 0) addMissing(desired.at(at));
    }
  }
  for (const desired of wanted.packedSets())
    if (!found.some((list) => list.packed(desired.family, desired.set) !== undefined))
      for (let index = 0; index < desired.length; index++) addMissing(desired.at(index));
  return { missing, extra };
}

/** The part of a key that names a frontend. */
function frontendPrefix({ family, set, key }: Element): string {
  return `${family} ${key.slice(0, frontendLength(family, set))}`;
}
