import { boolean, integer, object } from '../schema/fields.ts';
import { defineKind, type ObjectOfKind } from '../schema/kind.ts';
import { accepted, age, conditions, ready, reason } from '../schema/status.ts';

const interval = { min: 10, max: 60_000 } as const;

/** Fields, defaults and bounds are MetalLB's (v1beta1). */
export const bfdProfile = defineKind({
  kind: 'BFDProfile',
  plural: 'bfdprofiles',
  shortNames: ['hbfd'],
  description: 'How BFD (RFC 5880) watches the way to a peer: `bfdProfile` of a BGPPeer names it. May change while sessions are up.',
  spec: object({
    receiveInterval: integer({
      ...interval,
      default: 300,
      description: 'Milliseconds: the least time between packets that we can take.',
    }),
    transmitInterval: integer({
      ...interval,
      default: 300,
      description: 'Milliseconds: the least time between packets that we send.',
    }),
    detectMultiplier: integer({
      min: 2,
      max: 255,
      default: 3,
      description: 'So many packets in a row that do not come mean that the way is broken.',
    }),
    echoInterval: integer({
      ...interval,
      default: 50,
      description: 'Read, and not used: there is no echo mode.',
    }),
    echoMode: boolean({
      default: false,
      description: 'Read, and not used: a host would loop echo packets back in its kernel, which says less than control packets do.',
    }),
    passiveMode: boolean({ default: false, description: 'Send nothing until the peer does.' }),
    minimumTtl: integer({
      min: 1,
      max: 254,
      default: 254,
      description: 'With peers that are several hops away: packets that come with a lower TTL are dropped.',
    }),
  }),
  status: object({ conditions }),
  columns: [
    { name: 'Passive Mode', type: 'boolean', path: '.spec.passiveMode' },
    { name: 'Transmit Interval', type: 'integer', path: '.spec.transmitInterval' },
    { name: 'Receive Interval', type: 'integer', path: '.spec.receiveInterval' },
    { name: 'Multiplier', type: 'integer', path: '.spec.detectMultiplier' },
    accepted,
    ready,
    reason,
    age,
  ],
  example: {},
  object: (spec) => spec,
});

export type BFDProfile = ObjectOfKind<typeof bfdProfile>;
