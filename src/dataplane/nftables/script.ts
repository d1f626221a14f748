import type { Element } from './elements.ts';
import { tableFamily, tableName } from './layout.ts';
import { elementsPerStatement } from './limits.ts';

/** Lines for `nft -f -`: deletions first, so that an element may change its value and a prefix its length. */
export function differenceScript(difference: { readonly deletes: readonly Element[]; readonly adds: readonly Element[] }): string[] {
  return [...statements('delete', difference.deletes), ...statements('add', difference.adds)];
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
