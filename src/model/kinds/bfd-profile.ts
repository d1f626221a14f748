import { boolean, integer, object } from '../schema/fields.ts';
import { defineKind, type ObjectOfKind } from '../schema/kind.ts';
import { age, conditionColumns, conditions } from '../schema/status.ts';

const interval = { min: 10, max: 60_000 } as const;

/** Fields, defaults and limits are MetalLB's (v1beta1). */
export const bfdProfile = defineKind({
  kind: 'BFDProfile',
  plural: 'bfdprofiles',
  shortNames: ['hbfd'],
  description: 'How BFD (RFC 5880) monitors the path to a peer. `bfdProfile` of a BGPPeer names it. May change while sessions are up.',
  spec: object({
    receiveInterval: integer({
      ...interval,
      default: 300,
      description: 'Milliseconds: the shortest interval at which Herald can receive packets.',
    }),
    transmitInterval: integer({
      ...interval,
      default: 300,
      description: 'Milliseconds: the shortest interval at which Herald sends packets.',
    }),
    detectMultiplier: integer({
      min: 2,
      max: 255,
      default: 3,
      description: 'After this many missing packets in a row the path counts as broken.',
    }),
    echoInterval: integer({
      ...interval,
      default: 50,
      description: 'Read but not used: there is no echo mode.',
    }),
    echoMode: boolean({
      default: false,
      description: 'Read but not used: a host loops echo packets back in its kernel, which proves less than control packets do.',
    }),
    passiveMode: boolean({ default: false, description: 'Send nothing until the peer does.' }),
    minimumTtl: integer({
      min: 1,
      max: 254,
      default: 254,
      description: 'For peers several hops away: packets with a lower TTL are dropped.',
    }),
  }),
  status: object({ conditions }),
  columns: [
    { name: 'Passive Mode', type: 'boolean', path: '.spec.passiveMode' },
    { name: 'Transmit Interval', type: 'integer', path: '.spec.transmitInterval' },
    { name: 'Receive Interval', type: 'integer', path: '.spec.receiveInterval' },
    { name: 'Multiplier', type: 'integer', path: '.spec.detectMultiplier' },
    ...conditionColumns,
    age,
  ],
  example: {},
  object: (spec) => spec,
});

export type BFDProfile = ObjectOfKind<typeof bfdProfile>;
