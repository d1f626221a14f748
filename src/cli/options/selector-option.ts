import { InvalidArgumentError, Option } from 'commander';
import { selects, type LabelSelector } from '../../model/objects/label-selector.ts';
import { UsageError } from '../context/command-context.ts';
import type { Labels } from '../../model/objects/metadata.ts';

export interface SelectorOption {
  readonly selector?: LabelSelector;
}

/** `-l` as kubectl has it, for the labels of `kind`. */
export const selectorOption = (kind: string): Option =>
  new Option(
    '-l, --selector <selector>',
    `only each ${kind} with these labels: key=value, key!=value, 'key in (a,b)', 'key notin (a,b)', key or !key, with commas between`,
  ).argParser(readSelector);

/** Returns the names of the objects with the labels, or all without a selector. Throws UsageError when there is no such object. */
export function selectedNames<K extends string>(
  { selector }: SelectorOption,
  kind: string,
  objects: ReadonlyMap<K, { readonly metadata: { readonly labels: Labels } }>,
): ReadonlySet<K> {
  const names = [...objects.keys()];
  if (selector === undefined) return new Set(names);
  const found = names.filter((name) => selects(selector, objects.get(name)?.metadata.labels ?? {}));
  if (found.length === 0) throw new UsageError(`no ${kind} of ${names.length} has the labels that --selector asks for`);
  return new Set(found);
}

type Requirement = LabelSelector['matchExpressions'][number];

function readSelector(text: string): LabelSelector {
  // A comma inside of parentheses belongs to a list of values.
  const terms = text.split(/,(?![^(]*\))/).map((term) => term.trim());
  return { matchLabels: {}, matchExpressions: terms.map(requirementOf) };
}

function requirementOf(term: string): Requirement {
  const [, set, operator, list = ''] = /^([\w./-]+)\s+(in|notin)\s*\(([^()]*)\)$/.exec(term) ?? [];
  if (set !== undefined)
    return { key: set, operator: operator === 'in' ? 'In' : 'NotIn', values: list.split(',').map((value) => value.trim()) };
  const [, key, sign, value = ''] = /^([\w./-]+)\s*(==?|!=)\s*([\w.-]*)$/.exec(term) ?? [];
  if (key !== undefined) return { key, operator: sign === '!=' ? 'NotIn' : 'In', values: [value] };
  const [, not, name] = /^(!?)\s*([\w./-]+)$/.exec(term) ?? [];
  if (name === undefined) throw new InvalidArgumentError(`"${term}" is no term: write key=value, key!=value, key in (a,b), key or !key.`);
  return { key: name, operator: not === '!' ? 'DoesNotExist' : 'Exists', values: [] };
}
