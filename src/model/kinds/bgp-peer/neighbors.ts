import { limits } from '../../limits.ts';
import { integer, list, object, parsed } from '../../schema/fields.ts';
import { cidr } from '../../schema/grammars.ts';

const asn = { min: 1, max: 4_294_967_295 } as const;

const asnRange = object(
  {
    from: integer({ ...asn, required: 'write the first AS number', description: 'The first AS number.' }),
    to: integer({ ...asn, unset: '`from`', description: 'The last AS number.' }),
  },
  {
    relations: [
      {
        at: 'to',
        message: 'is smaller than from',
        fix: 'write the smaller number in from',
        cel: '!has(self.to) || self.to >= self.from',
        holds: ({ from, to }) => from === undefined || to === undefined || to >= from,
        broken: { from: 65_002, to: 65_001 },
      },
    ],
  },
);

/** Routers that are known by ranges of addresses, as FRR's `bgp listen range`. */
export const dynamicNeighbors = object(
  {
    ranges: list(parsed(cidr), {
      required: 'list the ranges of addresses from which routers may connect, for example 10.0.0.0/24',
      maxItems: limits.neighborRanges,
      unique: true,
      description: 'Addresses from which routers may connect. The first range determines the address family of the sessions.',
    }),
    asns: list(asnRange, {
      maxItems: limits.neighborAsns,
      description: 'AS numbers that the routers may have, besides what `peerASN` or `dynamicASN` demands. Empty: any.',
    }),
    maximum: integer({
      min: 1,
      max: limits.neighbors,
      default: limits.neighbors,
      description: 'The largest number of routers at a time on a node. Further ones are refused.',
    }),
  },
  {
    unset: 'none',
    description:
      'Routers that connect from these addresses get a session each, as with `bgp listen range` of FRR ([how](configuration.md#dynamic-neighbours)). In place of `peerAddress`; not together with `interface`, `sourceAddress`, `bfdProfile` or `import`.',
  },
);
