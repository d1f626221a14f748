import { parseAddress } from '../../net/address.ts';
import { parseInterfacePattern } from '../../net/interface-pattern.ts';
import { parsed, invalid, type Parsed } from '../../net/parsed.ts';
import { parsePrefix } from '../../net/prefix.ts';
import { parseCommunity, parseCommunityValue } from '../reading/community-value.ts';
import { parseWholeSeconds } from '../reading/duration.ts';
import { isLabelName } from '../reading/metadata.ts';
import { matches } from './cel.ts';
import type { Grammar, ValueRule } from './schema.ts';

/** An IPv6 address has at most 39 characters, or 45 when it ends in IPv4 notation. */
export const addressLength = 45;

export const address: Grammar<ReturnType<typeof parseAddress> extends Parsed<infer T> ? T : never> = {
  called: 'address',
  plural: 'addresses',
  parse: parseAddress,
  example: '192.0.2.1',
  maxLength: addressLength,
  rules: [
    {
      cel: 'isIP(self)',
      message: 'is not an IP address',
      fix: 'write it without leading zeros, zone and prefix length, and not as an IPv4-mapped IPv6 address',
      broken: '192.0.2.01',
    },
  ],
};

export const cidr: Grammar<ReturnType<typeof parsePrefix> extends Parsed<infer T> ? T : never> = {
  called: 'CIDR',
  plural: 'CIDRs',
  parse: parsePrefix,
  example: '192.0.2.0/24',
  maxLength: addressLength + '/128'.length,
  rules: [
    { cel: 'isCIDR(self)', message: 'is not a CIDR', fix: 'write address/length, for example 192.0.2.0/24', broken: '192.0.2.0' },
    {
      cel: '!isCIDR(self) || cidr(self) == cidr(self).masked()',
      message: 'has bits set beyond the prefix length',
      fix: 'write the first address of the block',
      broken: '192.0.2.1/24',
    },
  ],
};

const communityForms = { standard: '^[0-9]{1,5}:[0-9]{1,5}$', large: '^large:[0-9]{1,10}:[0-9]{1,10}:[0-9]{1,10}$' };

/** The rules for a community. With `mayBeName`, a text without a colon passes as a name. */
const communityRules = (mayBeName: boolean): readonly ValueRule[] => {
  const { standard, large } = communityForms;
  const parts = "self.replace('large:', '').split(':')";
  return [
    {
      cel: [...(mayBeName ? ["!self.contains(':')"] : []), matches('self', standard), matches('self', large)].join(' || '),
      message: 'is not a community',
      fix: 'write 65000:100, or large:4200000000:1:2',
      broken: 'large:1:2',
    },
    {
      cel: `!(${matches('self', standard)} || ${matches('self', large)}) || ${parts}.all(part, int(part) <= (self.startsWith('large:') ? 4294967295 : 65535))`,
      message: 'has a number that is too large',
      fix: 'numbers go to 65535, and after large: to 4294967295',
      broken: '65536:1',
    },
    {
      cel: `!(${matches('self', standard)} || ${matches('self', large)}) || !${parts}.exists(part, part.startsWith('0') && part != '0')`,
      message: 'has leading zeros',
      fix: 'write the numbers without them',
      broken: '065:1',
    },
  ];
};

/** The grammar of "65000:100" and "large:1:2:3". */
export const communityValue: Grammar<string> = {
  called: '`65000:100` or `large:1:2:3`',
  plural: 'communities',
  parse: parseCommunityValue,
  example: '65000:100',
  maxLength: 'large:4294967295:4294967295:4294967295'.length,
  rules: communityRules(false),
};

/** The grammar of a community value, a well-known name, or an alias, which is resolved later. */
export const community: Grammar<string> = {
  called: 'community',
  plural: 'communities',
  parse: parseCommunity,
  example: '65000:100',
  maxLength: 63,
  rules: [
    ...communityRules(true),
    {
      cel: `self.contains(':') || ${matches('self', '^[A-Za-z][A-Za-z0-9_.-]*$')}`,
      message: 'is neither a community nor a name of one',
      fix: 'a name begins with a letter and has letters, digits, "-", "_" and "."',
      broken: '1a',
    },
  ],
};

interface Naming extends Pick<Grammar<string>, 'called' | 'plural' | 'example' | 'maxLength'>, Pick<ValueRule, 'cel' | 'fix' | 'broken'> {
  /** The same check as `cel`. */
  readonly isValid: (text: string) => boolean;
  /** Completes "is not". */
  readonly is: string;
}

/** A grammar of texts that one rule decides. */
function named({ isValid, cel, is, fix, broken, ...words }: Naming): Grammar<string> {
  const parse = (text: string): Parsed<string> => (isValid(text) ? parsed(text) : invalid(`not ${is}: ${fix}`));
  return { ...words, parse, rules: [{ cel, message: `is not ${is}`, fix, broken }] };
}

export const communityName = named({
  called: 'name',
  plural: 'names',
  example: 'gold',
  maxLength: 63,
  isValid: (text) => /^[A-Za-z][\w.-]{0,62}$/.test(text),
  cel: matches('self', '^[A-Za-z][A-Za-z0-9_.-]*$'),
  is: 'a name',
  fix: 'begin with a letter; use letters, digits, "-", "_" and "."',
  broken: '1a',
});

/** The grammar of an object name that is an RFC 1123 label, such as that of a Service or Namespace. */
export const labelName = named({
  called: 'name',
  plural: 'names',
  example: 'shop',
  maxLength: 63,
  isValid: isLabelName,
  cel: matches('self', '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'),
  is: 'a name',
  fix: 'use lower case letters, digits and "-"',
  broken: 'A',
});

/** The grammar of interface names that Linux accepts (dev_valid_name). */
export const interfaceName = named({
  called: 'name of an interface',
  plural: 'names of interfaces',
  example: 'eth1',
  maxLength: 15,
  isValid: (text) => /^[^\s:/]{1,15}$/.test(text) && text !== '.' && text !== '..',
  cel: `${matches('self', '^[^\\s:/]+$')} && self != '.' && self != '..'`,
  is: 'the name of a network interface',
  fix: 'up to 15 characters without space, colon and slash',
  broken: 'eth/0',
});

/** The grammar of an interface name, or a prefix followed by "*". */
export const interfacePattern: Grammar<string> = {
  called: 'name of an interface',
  plural: 'names of interfaces',
  parse: parseInterfacePattern,
  example: 'cali*',
  maxLength: 15,
  rules: [
    {
      cel: matches('self', '^[A-Za-z0-9_.:@-]+[*]?$'),
      message: 'is neither the name of an interface nor the beginning of one',
      fix: 'write for example cni0, or cali*',
      broken: 'cali*x',
    },
  ],
};

export const loadBalancerClass = named({
  called: 'name, with a prefix or without',
  plural: 'names, with prefixes or without',
  example: 'herald.dev/herald',
  maxLength: 316,
  isValid: (text) => /^(?:[\w.-]+\/)?[\w.-]+$/.test(text),
  cel: matches('self', '^([A-Za-z0-9_.-]+/)?[A-Za-z0-9_.-]+$'),
  is: 'a class',
  fix: 'write a name such as herald.dev/herald or metallb-class1: letters, digits, "-", "_" and ".", and at most one "/"',
  broken: 'a/b/c',
});

/** Matches texts that CEL accepts as durations, so that rules can compute with them. */
export const durationPattern = '^([0-9]{1,9}([.][0-9]{1,9})?(ns|us|µs|ms|s|m|h))+$|^0$';

/**
 * The grammar of a Go duration of whole seconds, as metav1.Duration is written: "90s", "1m30s". `allowed` completes the sentence "it must
 * be".
 */
export function seconds(allowed: string, least: number): Grammar<number> {
  return {
    called: 'duration',
    plural: 'durations',
    parse: parseWholeSeconds,
    example: '90s',
    maxLength: 32,
    unit: { suffix: 's', called: 'a duration with its unit', allowed, least },
    rules: [
      {
        cel: matches('self', durationPattern),
        message: 'is not a duration',
        fix: 'write for example 90s or 1m30s',
        broken: '90',
      },
      {
        cel: `!${matches('self', durationPattern)} || duration(self).getMilliseconds() % 1000 == 0`,
        message: 'must be a whole number of seconds',
        fix: 'write for example 90s',
        broken: '1500ms',
      },
    ],
  };
}
