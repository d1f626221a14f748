import { bitsOf } from '../../../net/address.ts';
import type { Prefix } from '../../../net/prefix.ts';
import { limits } from '../../limits.ts';
import { integer, list, object, parsed } from '../../schema/fields.ts';
import { cidr, communityValue } from '../../schema/grammars.ts';

const length = { min: 0, max: 128 } as const;

interface PrefixRange {
  readonly prefix: Prefix | undefined;
  readonly ge: number | undefined;
  readonly le: number | undefined;
}

/** A prefix of the list alone is the route with exactly that prefix, as in the import rules of src/bgp. */
const prefixRange = object(
  {
    prefix: parsed(cidr, { required: 'write the prefix, for example 0.0.0.0/0', description: 'A prefix of either family.' }),
    ge: integer({ ...length, unset: 'the length of `prefix`', description: 'The shortest accepted length inside `prefix`.' }),
    le: integer({
      ...length,
      unset: 'the length of `prefix`, or with `ge` any length',
      description: 'The longest accepted length inside `prefix`.',
    }),
  },
  {
    relations: [
      ...(['ge', 'le'] as const).map((at) => ({
        at,
        message: 'is shorter than the prefix',
        fix: 'write the length of the prefix or a longer one',
        cel: `!has(self.${at}) || !isCIDR(self.prefix) || self.${at} >= cidr(self.prefix).prefixLength()`,
        holds: ({ prefix, [at]: length }: PrefixRange) => prefix === undefined || length === undefined || length >= prefix.length,
        broken: { prefix: '10.0.0.0/8', [at]: 7 },
      })),
      {
        at: 'le',
        message: 'is shorter than ge',
        fix: 'write ge: 16 and le: 24, for example',
        cel: '!has(self.ge) || !has(self.le) || self.le >= self.ge',
        holds: ({ ge, le }) => ge === undefined || le === undefined || le >= ge,
        broken: { prefix: '10.0.0.0/8', ge: 24, le: 16 },
      },
      ...(['ge', 'le'] as const).map((at) => ({
        at,
        message: 'is longer than a prefix of IPv4 can be',
        fix: 'write a length up to 32',
        cel: `!has(self.${at}) || !isCIDR(self.prefix) || cidr(self.prefix).ip().family() == 6 || self.${at} <= 32`,
        holds: ({ prefix, [at]: length }: PrefixRange) =>
          prefix === undefined || length === undefined || length <= bitsOf(prefix.address.family),
        broken: { prefix: '10.0.0.0/8', [at]: 33 },
      })),
    ],
  },
);

/** The routes of a peer that its nodes take into their kernel. */
export const peerImport = object(
  {
    prefixes: list(prefixRange, {
      required: 'list the prefixes that the nodes may take, for example prefix: 0.0.0.0/0 for the default route',
      maxItems: limits.importPrefixes,
      description: 'The prefixes that are accepted, of both families. A prefix without `ge` and `le` stands for itself only.',
    }),
    communities: list(parsed(communityValue), {
      maxItems: limits.communities,
      unique: true,
      description: 'A route must have all of these: `65000:100`, `large:1:2:3`.',
    }),
    localPref: integer({
      min: 0,
      max: 2 ** 32 - 1,
      unset: 'LOCAL_PREF of an internal peer, else 100',
      description:
        'Preference of the routes of this peer. Among peers with the same prefix the highest value wins; equal ones share the traffic, if their routes are equal otherwise.',
    }),
    maximumRoutes: integer({
      min: 1,
      max: limits.importedRoutes,
      default: 1000,
      description:
        'The most accepted routes of each family. A peer that sends more loses its session (Cease 6/1), and the pause before the next one doubles.',
    }),
  },
  {
    unset: 'none: received routes are counted and dropped',
    description:
      'Routes that the nodes take from this peer into a routing table of their own, see [receive routes](../how-to/receive-routes.md). May change while the session is up.',
  },
);
