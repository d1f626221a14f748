import type { ElementList } from '../../ruleset/element-list.ts';
import { keyText, valueText } from '../../ruleset/element-text.ts';
import type { Transaction } from '../executor.ts';
import { families, revisionSet, tableFamily, tableName } from '../../ruleset/layout.ts';
import { elementsPerStatement } from '../../limits.ts';
import { partScript, skeletonScript } from '../../ruleset/skeleton.ts';

/** Returns the transaction as lines for `nft -f -`. */
export function transactionScript({ create, deletes, adds, parts, revision }: Transaction): string[] {
  const where = `element ip ${tableName} ${revisionSet}`;
  return [
    ...create.flatMap(skeletonScript),
    ...parts.remove.flatMap(({ family, chains }) => partScript('remove', family, chains)),
    ...statements('delete', deletes),
    ...statements('add', adds),
    ...parts.add.flatMap(({ family, chains }) => partScript('add', family, chains)),
    ...(revision.remove.length === 0 ? [] : [`delete ${where} { ${revision.remove.join(' , ')} }`]),
    `add ${where} { ${revision.add} }`,
  ];
}

/** Returns the script that removes both tables. "add" creates a missing table first, so that "delete" succeeds. */
export function removalScript(): string[] {
  return families.flatMap((family) => ['add', 'delete'].map((verb) => `${verb} table ${tableFamily(family)} ${tableName}`));
}

function statements(verb: 'add' | 'delete', elements: ElementList): string[] {
  const lines: string[] = [];
  for (const packed of elements.packedSets()) {
    const where = `element ${tableFamily(packed.family)} ${tableName} ${packed.set}`;
    for (let start = 0; start < packed.length; start += elementsPerStatement) {
      const length = Math.min(elementsPerStatement, packed.length - start);
      const texts = Array.from({ length }, (_, index) => {
        const element = packed.at(start + index);
        const value = verb === 'add' ? valueText(element) : undefined;
        return value === undefined ? keyText(element) : `${keyText(element)} : ${value}`;
      });
      lines.push(`${verb} ${where} { ${texts.join(' , ')} }`);
    }
  }
  return lines;
}
