import { bitsOf } from '../../../net/address.ts';
import { prefixContains, type Prefix } from '../../../net/prefix.ts';
import type { Community } from '../../route.ts';
import { asPathLength, originAsn } from '../../wire/attributes/as-path.ts';
import type { ReceivedPath } from './received-route.ts';

/** Prefixes inside `prefix` whose length is from `ge` to `le`. */
export interface PrefixRange {
  readonly prefix: Prefix;
  /** Default: the length of `prefix`. */
  readonly ge?: number;
  /** Default: the length of `prefix`; with `ge`, all lengths of the family. */
  readonly le?: number;
}

/** A rule matches a route that meets all its conditions. A rule without conditions matches every route. */
export interface ParsedImportRule {
  /** Default `accept`. */
  readonly action?: 'accept' | 'refuse';
  /** One of these contains the prefix of the route. */
  readonly prefixes?: readonly PrefixRange[];
  /** The route has all of these. */
  readonly communities?: readonly Community[];
  /** One of these is the last AS of the path, or the AS of the peer if the path is empty. */
  readonly originAsns?: readonly number[];
  /** The path has at most this length, as route selection counts it. */
  readonly maximumPathLength?: number;
  /** The degree of preference of the routes that the rule accepts, in place of LOCAL_PREF. */
  readonly setLocalPref?: number;
}

/** The import rules of a peer. The first rule that matches decides. */
export interface ImportRules {
  readonly rules: readonly ParsedImportRule[];
  /** The decision about a route that no rule matches. */
  readonly otherwise: 'accept' | 'refuse';
}

export type ImportDecision = { readonly accepted: true; readonly localPref: number } | { readonly accepted: false };

/** Decides about a route. `path.localPref` is that of the peer. */
export function decideImport({ rules, otherwise }: ImportRules, prefix: Prefix, path: ReceivedPath): ImportDecision {
  const rule = rules.find((each) => matches(each, prefix, path));
  const action = rule === undefined ? otherwise : (rule.action ?? 'accept');
  return action === 'refuse' ? { accepted: false } : { accepted: true, localPref: rule?.setLocalPref ?? path.localPref };
}

function matches(rule: ParsedImportRule, prefix: Prefix, path: ReceivedPath): boolean {
  const { prefixes, communities, originAsns, maximumPathLength } = rule;
  if (prefixes?.some((range) => isInRange(range, prefix)) === false) return false;
  if (communities?.every((wanted) => hasCommunity(path.communities, wanted)) === false) return false;
  if (originAsns?.includes(originAsn(path.asPath) ?? path.from.asn) === false) return false;
  return maximumPathLength === undefined || asPathLength(path.asPath) <= maximumPathLength;
}

export function isInRange({ prefix, ge, le }: PrefixRange, { address, length }: Prefix): boolean {
  const least = Math.max(ge ?? 0, prefix.length);
  const most = le ?? (ge === undefined ? prefix.length : bitsOf(prefix.address.family));
  return length >= least && length <= most && prefixContains(prefix, address);
}

export const hasCommunity = (communities: readonly Community[], wanted: Community): boolean =>
  communities.some((each) => sameCommunity(each, wanted));

function sameCommunity(a: Community, b: Community): boolean {
  switch (a.kind) {
    case 'standard':
      return b.kind === 'standard' && a.value === b.value;
    case 'large':
      return (
        b.kind === 'large' &&
        a.globalAdministrator === b.globalAdministrator &&
        a.localData1 === b.localData1 &&
        a.localData2 === b.localData2
      );
    case 'extended':
      return b.kind === 'extended' && a.type === b.type && a.subtype === b.subtype && a.value === b.value;
  }
}
