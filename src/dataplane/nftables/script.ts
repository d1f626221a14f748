import type { Element } from './elements.ts';
import type { Transaction } from './executor.ts';
import { families, revisionSet, tableFamily, tableName } from './layout.ts';
import { elementsPerStatement } from './limits.ts';
import { skeletonScript } from './skeleton.ts';

/** Lines for `nft -f -`. */
export function transactionScript({ create, deletes, adds, revision }: Transaction): string[] {
  const where = `element ip ${tableName} ${revisionSet}`;
  return [
    ...create.flatMap(skeletonScript),
    ...statements('delete', deletes),
    ...statements('add', adds),
    ...(revision.remove.length === 0 ? [] : [`delete ${where} { ${revision.remove.join(' , ')} }`]),
    `add ${where} { ${revision.add} }`,
  ];
}

/** "add" makes a table that is not there, so that "delete" succeeds. */
export function removalScript(): string[] {
  return families.flatMap((family) => ['add', 'delete'].map((verb) => `${verb} table ${tableFamily(family)} ${tableName}`));
}

function statements(verb: 'add' | 'delete', elements: readonly Element[]): string[] {
  const bySet = new Map<string, string[]>();
  for (const element of elements) {
    const where = `element ${tableFamily(element.family)} ${tableName} ${element.set}`;
    const text = verb === 'add' && element.value !== undefined ? `${element.key} : ${element.value}` : element.key;
    const texts = bySet.get(where);
    if (texts === undefined) bySet.set(where, [text]);
    else texts.push(text);
  }
  const lines: string[] = [];
  for (const [where, texts] of bySet) {
    for (let start = 0; start < texts.length; start += elementsPerStatement) {
      lines.push(`${verb} ${where} { ${texts.slice(start, start + elementsPerStatement).join(' , ')} }`);
    }
  }
  return lines;
}
