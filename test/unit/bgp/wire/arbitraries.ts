/** Values of every kind that the codec knows, for property tests. */
import * as fc from 'fast-check';
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
