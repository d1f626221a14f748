/** Arbitrary values of every kind that the codec knows, for property tests. */
import * as fc from 'fast-check';
import { addressFromBytes, bitsOf, type Family } from '../../../../src/net/address.ts';
import { maskedPrefix, type Prefix } from '../../../../src/net/prefix.ts';
import type { Community } from '../../../../src/bgp/route.ts';
import type { WireSession } from '../../../../src/bgp/wire/message.ts';
import type { Aggregator, PathAttributes } from '../../../../src/bgp/wire/attributes/decode-attributes.ts';
import { nlriOf, type Path } from '../../../../src/bgp/wire/nlri.ts';
import type { UpdateContent } from '../../../../src/bgp/wire/update.ts';
import type { AsPathSegment } from '../../../../src/bgp/wire/attributes/as-path.ts';
import type { Capability } from '../../../../src/bgp/wire/capability.ts';

export const u8 = fc.nat(0xff);
export const u16 = fc.nat(0xffff);
export const u32 = fc.nat(0xffff_ffff);

const text = fc.stringMatching(/^([a-z0-9-]([a-z0-9ö. -]{0,30}[a-z0-9ö])?)?$/);
const restartFamily = { afi: u16, safi: u8, forwardingPreserved: fc.boolean() };
const direction = fc.constantFrom({ receive: true, send: false }, { receive: false, send: true }, { receive: true, send: true });

export const capability: fc.Arbitrary<Capability> = fc.oneof(
  fc.record({ kind: fc.constant('multiprotocol' as const), afi: u16, safi: u8 }),
  fc.constantFrom({ kind: 'routeRefresh' as const }, { kind: 'extendedMessage' as const }, { kind: 'enhancedRouteRefresh' as const }),
  fc.record({
    kind: fc.constant('extendedNextHop' as const),
    tuples: fc.array(fc.record({ afi: u16, safi: u16, nextHopAfi: u16 }), { maxLength: 40 }),
  }),
  fc.record({ kind: fc.constant('role' as const), role: u8 }),
  fc.record({
    kind: fc.constant('gracefulRestart' as const),
    restarted: fc.boolean(),
    notification: fc.boolean(),
    restartTime: fc.nat(4095),
    families: fc.array(fc.record(restartFamily), { maxLength: 60 }),
  }),
  fc.record({ kind: fc.constant('fourOctetAsn' as const), asn: u32 }),
  fc.record({
    kind: fc.constant('addPath' as const),
    families: fc.array(
      fc.tuple(u16, u8, direction).map(([afi, safi, direction]) => ({ afi, safi, ...direction })),
      { maxLength: 60 },
    ),
  }),
  fc.record({
    kind: fc.constant('longLivedGracefulRestart' as const),
    families: fc.array(fc.record({ ...restartFamily, staleTime: fc.nat(0xff_ffff) }), { maxLength: 36 }),
  }),
  fc.record({ kind: fc.constant('fqdn' as const), hostName: text, domainName: text }),
  fc.record({ kind: fc.constant('softwareVersion' as const), version: text }),
  fc.record({ kind: fc.constant('other' as const), code: fc.integer({ min: 76, max: 255 }), data: fc.uint8Array({ maxLength: 255 }) }),
);

const pathOf = (maximum: number, ...kinds: readonly AsPathSegment['kind'][]): fc.Arbitrary<AsPathSegment[]> =>
  fc.array(
    fc.record({ kind: fc.constantFrom(...kinds), asns: fc.array(fc.integer({ min: 1, max: maximum }), { minLength: 1, maxLength: 12 }) }),
    { maxLength: 5 },
  );

export const asPath = pathOf(0xffff_ffff, 'set', 'sequence', 'confederationSequence', 'confederationSet');

const bytes = (length: number): fc.Arbitrary<Uint8Array> => fc.uint8Array({ minLength: length, maxLength: length });

const community: fc.Arbitrary<Community> = fc.oneof(
  fc.record({ kind: fc.constant('standard' as const), value: u32 }),
  fc.record({ kind: fc.constant('extended' as const), type: u8, subtype: u8, value: fc.nat(2 ** 48 - 1) }),
  fc.record({ kind: fc.constant('large' as const), globalAdministrator: u32, localData1: u32, localData2: u32 }),
);
const order = { standard: 0, extended: 1, large: 2 };
const communities = fc
  .array(community, { minLength: 1, maxLength: 80 })
  .map((list) => list.toSorted((a, b) => order[a.kind] - order[b.kind]));

const aggregatorOf = (maximum: number): fc.Arbitrary<Aggregator> => fc.record({ asn: fc.integer({ min: 1, max: maximum }), routerId: u32 });
const other = fc.uniqueArray(
  fc.record({
    flags: fc.constantFrom(0x80, 0xc0, 0xe0),
    type: fc.integer({ min: 36, max: 255 }),
    value: fc.uint8Array({ maxLength: 300 }),
  }),
  { minLength: 1, maxLength: 3, selector: ({ type }) => type },
);
const usableNextHop = fc.tuple(fc.integer({ min: 1, max: 126 }), bytes(3)).map(([first, rest]) => Uint8Array.of(first, ...rest));

/** Attributes that are valid in this kind of session. ORIGIN, AS_PATH and NEXT_HOP are always present. */
function pathAttributes({ fourOctetAsn = true, internal = false }: WireSession): fc.Arbitrary<PathAttributes> {
  const largest = fourOctetAsn ? 0xffff_ffff : 0xffff;
  const inside = { localPref: u32, originatorId: u32, clusterList: fc.array(u32, { minLength: 1, maxLength: 8 }) };
  const behind = { as4Path: pathOf(0xffff_ffff, 'set', 'sequence'), as4Aggregator: aggregatorOf(0xffff_ffff) };
  return fc.record(
    {
      origin: fc.nat(2),
      // Confederation segments are allowed only from an internal peer.
      asPath: pathOf(largest, 'set', 'sequence', ...(internal ? (['confederationSequence', 'confederationSet'] as const) : [])),
      nextHop: usableNextHop,
      med: u32,
      atomicAggregate: fc.constant(true as const),
      aggregator: aggregatorOf(largest),
      communities,
      onlyToCustomer: u32,
      other: other.map((list) => list.toSorted((a, b) => a.type - b.type)),
      ...(internal ? inside : {}),
      ...(fourOctetAsn ? {} : behind),
    },
    { requiredKeys: ['origin', 'asPath', 'nextHop'] },
  );
}

const pathsOf = (family: Family, pathIds: boolean): fc.Arbitrary<Path[]> => {
  const bits = bitsOf(family);
  const prefix = fc.tuple(bytes(bits / 8), fc.nat(bits)).map(([octets, length]): Prefix => maskedPrefix(addressFromBytes(octets), length));
  const path = pathIds ? fc.record({ prefix, pathId: u32 }) : fc.record({ prefix });
  return fc.array(path, { minLength: 1, maxLength: 30 });
};

/** Valid content of an UPDATE in this kind of session, which has both families, and path identifiers in both families or in neither. */
export function updateContent(session: WireSession): fc.Arbitrary<UpdateContent> {
  const pathIds = session.addPathReceive !== undefined;
  const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(value, { maxLength: 1 });
  const multiprotocolHop = fc.oneof(bytes(16), bytes(32));
  const plainWithdrawn = pathsOf(4, pathIds).map((paths) => nlriOf(4, paths));
  const otherWithdrawn = pathsOf(6, pathIds).map((paths) => nlriOf(6, paths));
  const otherAnnounced = fc
    .constantFrom<Family>(4, 6)
    .chain((family) => fc.tuple(pathsOf(family, pathIds), multiprotocolHop).map(([paths, hop]) => nlriOf(family, paths, hop)));
  return fc
    .tuple(
      optional(plainWithdrawn),
      optional(otherWithdrawn),
      optional(otherAnnounced),
      optional(pathsOf(4, pathIds)),
      pathAttributes(session),
    )
    .map(([first, second, multiprotocol, [paths], attributes]) => ({
      withdrawn: [...first, ...second],
      announced: [...multiprotocol, ...(paths === undefined ? [] : [nlriOf(4, paths, attributes.nextHop)])],
      attributes,
    }));
}
