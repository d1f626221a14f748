import { defined } from '../../lang/defined.ts';
import { bitsOf } from '../../net/address.ts';
import { formatPrefix, parsePrefix, type Prefix } from '../../net/prefix.ts';
import { maximumImportRules } from '../limits.ts';
import type { ParsedImportRule, PrefixRange } from '../rib/received/import-filter.ts';
import type { ImportSettings } from '../rib/received/received-routes.ts';
import type { Community } from '../route.ts';
import { parseCommunity } from './community-text.ts';
import { refuseUnknownOptions } from './known-options.ts';

/** Prefixes inside `prefix` with certain lengths. */
export interface PrefixRangeInput extends Omit<PrefixRange, 'prefix'> {
  /** For example "10.0.0.0/8". */
  readonly prefix: Prefix | string;
}

/** A rule as a program writes it: prefixes and communities may be text. */
export interface ImportRule extends Omit<ParsedImportRule, 'prefixes' | 'communities'> {
  /** One of these contains the prefix of the route. A prefix without `ge` and `le` stands for itself only. */
  readonly prefixes?: readonly (PrefixRangeInput | string)[];
  /** The route has all of these. */
  readonly communities?: readonly (Community | string)[];
}

/** The import rules of a peer. A route that no rule matches is refused, unless `otherwise` says something else (RFC 8212). */
export interface ImportOptions {
  /** The first rule that matches decides. */
  readonly rules?: readonly ImportRule[];
  readonly otherwise?: 'accept' | 'refuse';
  /** The largest number of kept routes of each family. More end the session with Cease 6/1. Default 100,000. */
  readonly maximumRoutes?: number;
}

export interface ResolvedImport extends ImportSettings {
  readonly rules: readonly ParsedImportRule[];
}

/** Throws UnknownOptionError for a key that is no option. */
export function refuseUnknownImport(options: ImportOptions): void {
  refuseUnknownOptions('peer', options, { rules: 0, otherwise: 0, maximumRoutes: 0 }, 'import.');
  for (const rule of options.rules ?? []) {
    const known = { action: 0, prefixes: 0, communities: 0, originAsns: 0, maximumPathLength: 0, setLocalPref: 0 };
    refuseUnknownOptions('peer', rule, known, 'import.rules.');
    for (const range of rule.prefixes ?? []) {
      if (typeof range !== 'string') refuseUnknownOptions('peer', range, { prefix: 0, ge: 0, le: 0 }, 'import.rules.prefixes.');
    }
  }
}

/** Parses the text in the rules. Returns what is wrong instead if they cannot work. */
export function resolveImport({ rules = [], otherwise = 'refuse', maximumRoutes }: ImportOptions): ResolvedImport | string {
  if (rules.length > maximumImportRules) return `has more than ${maximumImportRules} rules`;
  if (otherwise !== 'accept' && otherwise !== 'refuse') return 'otherwise is accept or refuse';
  if (maximumRoutes !== undefined && !isWhole(maximumRoutes, 0xffff_ffff)) return 'maximumRoutes is a number of routes';
  const resolved: ParsedImportRule[] = [];
  for (const rule of rules) {
    const parsed = resolveRule(rule);
    if (typeof parsed === 'string') return parsed;
    resolved.push(parsed);
  }
  return { rules: resolved, otherwise, ...defined({ maximumRoutes }) };
}

function resolveRule({ prefixes, communities, ...rest }: ImportRule): ParsedImportRule | string {
  const { action, originAsns, maximumPathLength, setLocalPref } = rest;
  if (action !== undefined && action !== 'accept' && action !== 'refuse') return 'the action of a rule is accept or refuse';
  if (setLocalPref !== undefined && !isWhole(setLocalPref, 0xffff_ffff)) return 'setLocalPref is a number from 0 to 4294967295';
  if (setLocalPref !== undefined && action === 'refuse') return 'a rule that refuses routes cannot set their LOCAL_PREF';
  if (maximumPathLength !== undefined && !isWhole(maximumPathLength, 0xffff)) return 'maximumPathLength is a number of AS numbers';
  if (originAsns?.every((asn) => isWhole(asn, 0xffff_ffff)) === false) return 'originAsns are AS numbers';
  for (const list of [prefixes, communities, originAsns]) {
    if ((list?.length ?? 0) > maximumImportRules) return `a rule has a list of more than ${maximumImportRules} entries`;
  }
  const ranges = prefixes?.map(resolveRange);
  const parsed = communities?.map(resolveCommunity);
  const wrong = [...(ranges ?? []), ...(parsed ?? [])].find((each) => typeof each === 'string');
  if (wrong !== undefined) return wrong;
  return {
    ...rest,
    ...(ranges === undefined ? {} : { prefixes: ranges.filter((each) => typeof each !== 'string') }),
    ...(parsed === undefined ? {} : { communities: parsed.filter((each) => typeof each !== 'string') }),
  };
}

function resolveRange(input: PrefixRangeInput | string): PrefixRange | string {
  const { prefix: given, ge, le }: PrefixRangeInput = typeof input === 'string' ? { prefix: input } : input;
  const result = typeof given === 'string' ? parsePrefix(given) : { ok: true as const, value: given };
  if (!result.ok) return `${JSON.stringify(given)}: ${result.problem}`;
  const { value: prefix } = result;
  const bits = bitsOf(prefix.address.family);
  const least = ge ?? prefix.length;
  const most = le ?? bits;
  const inOrder = isWhole(least, bits) && isWhole(most, bits) && prefix.length <= least && least <= most;
  if (!inOrder) return `${formatPrefix(prefix)}: ge and le are lengths from ${prefix.length} to ${bits}, and ge is not above le`;
  return { prefix, ...defined({ ge, le }) };
}

function resolveCommunity(input: Community | string): Community | string {
  if (typeof input !== 'string') return input;
  const result = parseCommunity(input);
  return result.ok ? result.value : `${JSON.stringify(input)}: ${result.problem}`;
}

const isWhole = (value: number, most: number): boolean => Number.isInteger(value) && value >= 0 && value <= most;
