import type { Family } from '../../../src/net/address.ts';
import { elementsPerStatement } from '../../../src/dataplane/limits.ts';
import type { Transaction } from '../../../src/dataplane/nftables/executor.ts';
import type { ElementList } from '../../../src/dataplane/ruleset/element-list.ts';
import { keyText } from '../../../src/dataplane/ruleset/element-text.ts';
import { families, revisionSet, tableFamily, tableName, type Chain } from '../../../src/dataplane/ruleset/layout.ts';
import type { PartChains } from '../../../src/dataplane/ruleset/parts.ts';
import { verdictMap, type Skeleton } from '../../../src/dataplane/ruleset/skeleton.ts';
import { valueText } from './element-from-text.ts';

/** Returns the transaction as lines for `nft -f -`. */
export function transactionScript({ create, deletes, adds, parts, revision }: Transaction): string[] {
  const where = `element ip ${tableName} ${revisionSet}`;
  return [
    ...create.flatMap(skeletonScript),
    ...statements('delete', deletes),
    ...parts.remove.flatMap(({ family, chains }) => partScript('remove', family, chains)),
    ...parts.add.flatMap(({ family, chains }) => partScript('add', family, chains)),
    ...statements('add', adds),
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

/** Returns the commands that create the table from nothing, as one transaction that also deletes an older table of that name. */
export function skeletonScript(skeleton: Skeleton): string[] {
  const table = `${tableFamily(skeleton.family)} ${tableName}`;
  const lines = [`add table ${table}`, `delete table ${table}`, `add table ${table}`];
  for (const [name, body] of skeleton.sets) lines.push(`add set ${table} ${name} { ${body} }`);
  for (const [name, body] of skeleton.maps) lines.push(`add map ${table} ${name} { ${body} }`);
  for (const [name, elements] of skeleton.verdicts) lines.push(`add map ${table} ${name} { ${verdictMap(elements)} }`);
  for (const [name, chain] of skeleton.chains) lines.push(chainScript(table, name, chain));
  for (const [name, elements] of skeleton.verdicts) {
    const text = [...elements].map(([key, verdict]) => `${key} : ${verdict}`).join(' , ');
    lines.push(`add element ${table} ${name} { ${text} }`);
  }
  for (const [name, chain] of skeleton.chains) for (const rule of chain.rules) lines.push(`add rule ${table} ${name} ${rule}`);
  return lines;
}

const chainScript = (table: string, name: string, { hook }: Chain): string =>
  hook === undefined ? `add chain ${table} ${name}` : `add chain ${table} ${name} { ${hook} ; }`;

const comesAndGoes = ({ hook, passing }: Chain): boolean => hook !== undefined || passing === true;

/** Returns the commands that add or remove chains that come and go with elements. */
export function partScript(verb: 'add' | 'remove', family: Family, chains: PartChains): string[] {
  const table = `${tableFamily(family)} ${tableName}`;
  return [...chains].flatMap(([name, chain]) =>
    verb === 'add'
      ? [
          ...(comesAndGoes(chain) ? [chainScript(table, name, chain)] : []),
          ...chain.rules.map((rule) => `add rule ${table} ${name} ${rule}`),
        ]
      : [`flush chain ${table} ${name}`, ...(comesAndGoes(chain) ? [`delete chain ${table} ${name}`] : [])],
  );
}
