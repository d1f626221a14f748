import { elementIdentity, type Element } from './elements.ts';
import { allSets } from './layout.ts';

/**
 * Divides the elements that were found in the kernel among those who are to have elements there, by owner: to a frontend everything
 * under its address and port or its NodePort, whatever its form was, and to everybody what they want themselves. `rest` is
 * for what nobody can be found for. So each owner is brought from its old form to its new one by itself, and when another one
 * is refused nothing of it is touched.
 */
export function divideFound(
  found: readonly Element[],
  targets: ReadonlyMap<string, { readonly elements: readonly Element[] }>,
): { readonly owned: ReadonlyMap<string, readonly Element[]>; readonly rest: readonly Element[] } {
  const byFrontend = new Map<string, string>();
  const byIdentity = new Map<string, string[]>();
  for (const [owner, { elements }] of targets) {
    for (const element of elements) {
      const frontend = frontendOf(element);
      if (frontend !== undefined) byFrontend.set(frontend, owner);
      else {
        const identity = elementIdentity(element);
        const owners = byIdentity.get(identity);
        if (owners === undefined) byIdentity.set(identity, [owner]);
        else owners.push(owner);
      }
    }
  }
  const owned = new Map<string, Element[]>();
  const rest: Element[] = [];
  for (const element of found) {
    const frontend = frontendOf(element);
    const owner = frontend === undefined ? undefined : byFrontend.get(frontend);
    const owners = owner === undefined ? (byIdentity.get(elementIdentity(element)) ?? []) : [owner];
    if (owners.length === 0) rest.push(element);
    for (const each of owners) {
      const elements = owned.get(each);
      if (elements === undefined) owned.set(each, [element]);
      else elements.push(element);
    }
  }
  return { owned, rest };
}

/** The part of a key that names a frontend; undefined in sets that are not of frontends. */
function frontendOf({ family, set, key }: Element): string | undefined {
  const fields = allSets.get(set)?.key ?? [];
  if (fields[0] === 'protocol') return `${family} ${firstFields(key, 2)}`;
  if (fields[0] === 'address' && fields[1] === 'protocol') return `${family} ${firstFields(key, 3)}`;
  return undefined;
}

function firstFields(key: string, count: number): string {
  let end = -1;
  for (let field = 0; field < count; field++) {
    end = key.indexOf(' . ', end + 1);
    if (end < 0) return key;
  }
  return key.slice(0, end);
}
