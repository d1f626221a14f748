import { defined } from '../../lang/defined.ts';
import { integer, object, text } from '../schema/fields.ts';
import { defineKind, type ObjectOfKind } from '../schema/kind.ts';
import { age, conditionColumns, conditions } from '../schema/status.ts';
import type { ObjectValue } from '../schema/value.ts';
import { bgpPeerFields } from './bgp-peer/fields.ts';
import { bgpPeerRelations } from './bgp-peer/relations.ts';

const status = object({
  sessions: text({ maxLength: 64, description: 'Established sessions of expected ones: `3/4`.' }),
  sessionsEstablished: integer({ min: 0, max: 2 ** 31 - 1, description: 'Nodes whose session with the peer is up.' }),
  sessionsExpected: integer({ min: 0, max: 2 ** 31 - 1, description: 'Nodes that should have a session with the peer.' }),
  conditions,
});

export const bgpPeer = defineKind({
  kind: 'BGPPeer',
  plural: 'bgppeers',
  shortNames: ['hpeer'],
  description: 'A router that nodes have BGP sessions with.',
  spec: object(bgpPeerFields, { required: 'write myASN, peerASN and peerAddress', relations: bgpPeerRelations }),
  status,
  columns: [
    { name: 'Address', type: 'string', path: '.spec.peerAddress' },
    { name: 'Interface', type: 'string', path: '.spec.interface' },
    { name: 'ASN', type: 'integer', path: '.spec.peerASN' },
    { name: 'Sessions', type: 'string', path: '.status.sessions', description: 'Established sessions of expected ones.' },
    ...conditionColumns,
    { name: 'Dynamic ASN', type: 'string', path: '.spec.dynamicASN', wide: true },
    { name: 'BFD Profile', type: 'string', path: '.spec.bfdProfile', wide: true },
    { name: 'Multi Hops', type: 'boolean', path: '.spec.ebgpMultiHop', wide: true },
    { name: 'Admin Down', type: 'boolean', path: '.spec.adminDown', wide: true },
    age,
  ],
  example: { myASN: 64_512, peerASN: 64_513, peerAddress: '192.0.2.1' },
  object: ({ holdTime, keepaliveTime, connectTime, passwordSecret, bfdProfile, disableMP: _mp, ...rest }) => ({
    ...rest,
    ...timers(holdTime, keepaliveTime),
    ...defined({ connectTimeSeconds: connectTime }),
    ...secret(passwordSecret),
    ...(bfdProfile === undefined || bfdProfile === '' ? {} : { bfdProfile }),
  }),
});

export type BGPPeer = ObjectOfKind<typeof bgpPeer>;

/**
 * Returns both timers. When only the keepalive time is set, the hold time is three times that. A hold time of 0 turns both off (RFC 4271
 * 4.2). A keepalive time of 0 counts as not set, as MetalLB's samples have it.
 */
function timers(holdTime: number | undefined, writtenKeepalive: number | undefined) {
  const keepaliveTime = writtenKeepalive === 0 ? undefined : writtenKeepalive;
  const holdTimeSeconds = holdTime ?? (keepaliveTime === undefined ? 90 : keepaliveTime * 3);
  return { holdTimeSeconds, keepaliveTimeSeconds: keepaliveTime ?? Math.floor(holdTimeSeconds / 3) };
}

function secret(written: ObjectValue<typeof bgpPeerFields>['passwordSecret']) {
  const { name, namespace } = written ?? {};
  return name === undefined || namespace === undefined ? {} : { passwordSecret: { name, namespace } };
}
