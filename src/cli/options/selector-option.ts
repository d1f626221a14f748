import { InvalidArgumentError, Option } from 'commander';
import { selects, type LabelSelector } from '../../model/objects/label-selector.ts';
import { UsageError } from '../context/command-context.ts';
import type { NamespaceOption } from '../context/object-words.ts';
import type { Labels } from '../../model/objects/metadata.ts';

/** The options of every table that choose its objects, as kubectl has them. */
export interface ScopeOptions extends NamespaceOption {
  readonly selector?: LabelSelector;
  readonly allNamespaces?: true;
}

type Scoped = 'Service' | 'BGPPeer' | 'IPAddressPool';

/** `-n`, `-A` and `-l` for the objects of `kind`. */
export function scopeOptions(kind: Scoped): Option[] {
  const isNamespaced = kind === 'Service';
  const namespace = isNamespaced
    ? 'only the Services of this namespace, which is also that of a Service named without one'
    : `without effect, as for kubectl: no ${kind} is in a namespace`;
  const all = isNamespaced ? 'the Services of all namespaces, as without -n' : 'as without it';
  return [
    new Option('-n, --namespace <name>', namespace).conflicts('allNamespaces'),
    new Option('-A, --all-namespaces', all),
    selectorOption(kind),
  ];
}

/** `-l` as kubectl has it, for the labels of `kind`. */
const selectorOption = (kind: Scoped): Option =>
  new Option(
    '-l, --selector <selector>',
    `only each ${kind} with these labels: key=value, key!=value, 'key in (a,b)', 'key notin (a,b)', key or !key, with commas between`,
  ).argParser(readSelector);

/**
 * Returns the names of the objects that the options choose, or all when they name neither labels nor a namespace. Throws UsageError when labels are named
 * and no object has them.
 */
export function selectedNames<K extends string>(
  { selector, namespace }: ScopeOptions,
  kind: Scoped,
  objects: ReadonlyMap<K, { readonly metadata: { readonly labels: Labels } }>,
): ReadonlySet<K> {
  const names = [...objects.keys()].filter((name) => kind !== 'Service' || namespace === undefined || name.startsWith(`${namespace}/`));
  if (selector === undefined) return new Set(names);
  const found = names.filter((name) => selects(selector, objects.get(name)?.metadata.labels ?? {}));
  if (found.length > 0) return new Set(found);
  const where = kind === 'Service' && namespace !== undefined ? ` in the namespace ${namespace}` : '';
  throw new UsageError(`no ${kind} of ${names.length}${where} has the labels that --selector asks for`);
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
