import { isLinkLocal } from '../../../net/address.ts';
import { limits } from '../../limits.ts';
import { hasNumber, hasText, isTrue, matches } from '../../schema/cel.ts';
import { durationPattern } from '../../schema/grammars.ts';
import type { Relation } from '../../schema/schema.ts';
import type { Draft } from '../../schema/value.ts';
import type { bgpPeerFields } from './fields.ts';

type Peer = Draft<typeof bgpPeerFields>;
type PeerRelation = Relation<Peer, keyof typeof bgpPeerFields>;

const isInternal = ({ myASN, peerASN, dynamicASN }: Peer): boolean =>
  dynamicASN === 'internal' || (peerASN !== undefined && peerASN === myASN);

const internal = "((has(self.dynamicASN) && self.dynamicASN == 'internal') || (has(self.peerASN) && self.peerASN == self.myASN))";
const addressIn = (field: string): string => `(${hasText(field)} && isIP(self.${field}))`;
const linkLocal = `(${addressIn('peerAddress')} && ip(self.peerAddress).family() == 6 && ip(self.peerAddress).isLinkLocalUnicast())`;
const durationIn = (field: string): string => `(has(self.${field}) && ${matches(`self.${field}`, durationPattern)})`;

const asns: readonly PeerRelation[] = [
  {
    at: 'peerASN',
    message: 'is required',
    fix: 'write the AS number of the peer, or dynamicASN: internal or external',
    cel: `${hasNumber('peerASN')} || has(self.dynamicASN)`,
    holds: (_, written) => written('peerASN') || written('dynamicASN'),
    broken: { peerASN: undefined },
  },
  {
    at: 'dynamicASN',
    message: 'must not be set together with peerASN',
    fix: 'remove one of the two',
    cel: `!(${hasNumber('peerASN')} && has(self.dynamicASN))`,
    holds: (_, written) => !(written('peerASN') && written('dynamicASN')),
    broken: { dynamicASN: 'external' },
  },
  {
    at: 'localASN',
    message: 'is for external sessions, and this one is internal',
    fix: 'remove localASN',
    cel: `!${hasNumber('localASN')} || !${internal}`,
    holds: (peer) => peer.localASN === undefined || !isInternal(peer),
    broken: { peerASN: 64_512, localASN: 64_999 },
  },
  {
    at: 'localASN',
    message: 'is the AS number of the peer',
    fix: 'write another one, or myASN alone for an internal session',
    cel: `!(${hasNumber('localASN')} && has(self.peerASN) && self.localASN == self.peerASN)`,
    holds: ({ localASN, peerASN }) => localASN === undefined || localASN !== peerASN,
    broken: { localASN: 64_513 },
  },
];

const passwords: readonly PeerRelation[] = [
  {
    at: 'password',
    message: `is longer than ${limits.passwordBytes} octets`,
    fix: 'shorten it',
    // A relation rather than a rule of the field, because the API server shows the value of a field whose rule fails.
    cel: `!has(self.password) || bytes(self.password).size() <= ${limits.passwordBytes}`,
    holds: ({ password }) => password === undefined || Buffer.byteLength(password) <= limits.passwordBytes,
    // Each character has three octets.
    broken: { password: '€'.repeat(27) },
  },
  {
    at: 'passwordSecret',
    message: 'must not be set together with password',
    fix: 'remove one of the two',
    cel: `!(${hasText('password')} && has(self.passwordSecret) && has(self.passwordSecret.name) && self.passwordSecret.name != '')`,
    holds: ({ password, passwordSecret }) => password === undefined || passwordSecret?.name === undefined,
    broken: { password: 'a', passwordSecret: { name: 's', namespace: 'n' } },
  },
];

const addresses: readonly PeerRelation[] = [
  {
    at: 'peerAddress',
    message: 'is required',
    fix: 'write the address of the router, interface for an unnumbered session, or dynamicNeighbors',
    cel: `${hasText('peerAddress')} || ${hasText('interface')} || has(self.dynamicNeighbors)`,
    holds: ({ dynamicNeighbors: dynamic }, written) => written('peerAddress') || written('interface') || dynamic !== undefined,
    broken: { peerAddress: undefined },
  },
  {
    at: 'interface',
    message: 'is required',
    fix: 'name the network interface of the node that this link-local peerAddress is on',
    cel: `!${linkLocal} || ${hasText('interface')}`,
    holds: ({ peerAddress }, written) => peerAddress === undefined || !isLinkLocal(peerAddress) || written('interface'),
    broken: { peerAddress: 'fe80::1' },
  },
  {
    at: 'sourceAddress',
    message: 'is IPv4, but an unnumbered session runs over IPv6',
    fix: 'remove sourceAddress',
    cel: `!${addressIn('sourceAddress')} || ${hasText('peerAddress')} || ip(self.sourceAddress).family() == 6`,
    holds: ({ sourceAddress }, written) => sourceAddress?.family !== 4 || written('peerAddress') || !written('interface'),
    broken: { peerAddress: undefined, interface: 'eth1', sourceAddress: '192.0.2.2' },
  },
  {
    at: 'sourceAddress',
    message: 'is not of the family of peerAddress',
    says: ({ sourceAddress, peerAddress }) => `is IPv${sourceAddress?.family}, but peerAddress is IPv${peerAddress?.family}`,
    fix: 'use addresses of one family',
    cel: `!(${addressIn('sourceAddress')} && ${addressIn('peerAddress')}) || ip(self.sourceAddress).family() == ip(self.peerAddress).family()`,
    holds: ({ sourceAddress, peerAddress }) =>
      sourceAddress === undefined || peerAddress === undefined || sourceAddress.family === peerAddress.family,
    broken: { sourceAddress: '2001:db8::2' },
  },
  {
    at: 'sourceInterface',
    message: 'must not be set together with sourceAddress',
    fix: 'remove one of the two',
    cel: `!(${hasText('sourceInterface')} && ${hasText('sourceAddress')})`,
    holds: (_, written) => !written('sourceInterface') || !written('sourceAddress'),
    broken: { sourceInterface: 'lo', sourceAddress: '10.0.0.2' },
  },
  {
    at: 'sourceInterface',
    message: 'needs peerAddress, whose family says which address is used',
    fix: 'set peerAddress, or remove sourceInterface',
    cel: `!${hasText('sourceInterface')} || ${hasText('peerAddress')}`,
    holds: (_, written) => !written('sourceInterface') || written('peerAddress'),
    broken: { sourceInterface: 'lo', peerAddress: undefined, interface: 'eth1' },
  },
  {
    at: 'ebgpMultiHop',
    message: 'is for external sessions, and this one is internal',
    fix: 'remove ebgpMultiHop',
    cel: `!${isTrue('ebgpMultiHop')} || !${internal}`,
    holds: (peer) => peer.ebgpMultiHop !== true || !isInternal(peer),
    broken: { peerASN: 64_512, ebgpMultiHop: true },
  },
  {
    at: 'ebgpMultiHop',
    message: 'is for peers behind another router, and this one is on the link',
    fix: 'remove ebgpMultiHop',
    cel: `!${isTrue('ebgpMultiHop')} || has(self.dynamicNeighbors) || (${hasText('peerAddress')} && !${linkLocal})`,
    holds: ({ ebgpMultiHop, peerAddress }, written) =>
      ebgpMultiHop !== true ||
      (written('peerAddress') && (peerAddress === undefined || !isLinkLocal(peerAddress))) ||
      !written('interface'),
    broken: { peerAddress: undefined, interface: 'eth1', ebgpMultiHop: true },
  },
  {
    at: 'ttlSecurityHops',
    message: 'must not be set together with ebgpMultiHop',
    fix: 'remove ebgpMultiHop: a peer that is further away has more ttlSecurityHops',
    cel: `!(${hasNumber('ttlSecurityHops')} && ${isTrue('ebgpMultiHop')})`,
    holds: ({ ttlSecurityHops, ebgpMultiHop }) => ttlSecurityHops === undefined || ebgpMultiHop !== true,
    broken: { ttlSecurityHops: 1, ebgpMultiHop: true },
  },
];

const bfd: readonly PeerRelation[] = [
  {
    at: 'bfdStrict',
    message: 'has nothing to wait for: there is no bfdProfile',
    fix: 'name a bfdProfile, or remove bfdStrict',
    cel: `!${isTrue('bfdStrict')} || ${hasText('bfdProfile')}`,
    holds: ({ bfdStrict }, written) => bfdStrict !== true || written('bfdProfile'),
    broken: { bfdStrict: true },
  },
];

const dynamic: readonly PeerRelation[] = (['peerAddress', 'interface', 'sourceAddress', 'bfdProfile'] as const).map((field) => ({
  at: field,
  message: 'must not be set together with dynamicNeighbors',
  fix: 'remove one of the two',
  cel: `!(has(self.dynamicNeighbors) && ${hasText(field)})`,
  holds: (peer, written) => peer.dynamicNeighbors === undefined || !written(field) || peer[field] === '',
  broken: {
    dynamicNeighbors: { ranges: ['10.0.0.0/24'] },
    peerAddress: undefined,
    [field]: { peerAddress: '10.0.0.1', interface: 'eth1', sourceAddress: '10.0.0.2', bfdProfile: 'fast' }[field],
  },
}));

const dynamicImport: PeerRelation = {
  at: 'import',
  message: 'must not be set together with dynamicNeighbors',
  fix: 'remove import: write a BGPPeer for each router whose routes the nodes take',
  cel: '!(has(self.dynamicNeighbors) && has(self.import))',
  holds: (peer) => peer.dynamicNeighbors === undefined || peer.import === undefined,
  broken: { dynamicNeighbors: { ranges: ['10.0.0.0/24'] }, peerAddress: undefined, import: { prefixes: [{ prefix: '0.0.0.0/0' }] } },
};

const inVrf = hasText('vrf');

const vrfs: readonly PeerRelation[] = [
  {
    at: 'vrf',
    message: 'must not be set together with interface',
    fix: 'remove vrf: a session on an interface is in the VRF of that interface',
    cel: `!(${inVrf} && ${hasText('interface')})`,
    holds: (_, written) => !(written('vrf') && written('interface')),
    broken: { vrf: 'red', interface: 'eth1' },
  },
  {
    at: 'bfdProfile',
    message: 'is not supported in a VRF',
    fix: 'remove bfdProfile, and set a short holdTime',
    cel: `!(${inVrf} && ${hasText('bfdProfile')})`,
    holds: ({ bfdProfile = '' }, written) => !written('vrf') || bfdProfile === '',
    broken: { vrf: 'red', bfdProfile: 'fast' },
  },
  {
    at: 'import',
    message: 'is not supported in a VRF',
    fix: 'remove import: routes of a VRF do not belong into the table of the node',
    cel: `!(${inVrf} && has(self.import))`,
    holds: ({ import: imported }, written) => !written('vrf') || imported === undefined,
    broken: { vrf: 'red', import: { prefixes: [{ prefix: '0.0.0.0/0' }] } },
  },
];

const holdTimes = '0s, or from 3s to 65535s';

/** RFC 4271 4.2 and 4.4: the hold time is 0 or at least three seconds, and keepalives are sent at a third of it. 0 turns both off. */
const timers: readonly PeerRelation[] = [
  {
    at: 'holdTime',
    message: `must be ${holdTimes}`,
    says: ({ holdTime }) => `makes a hold time of ${holdTime}s; it must be ${holdTimes}`,
    fix: 'write for example holdTime: 90s',
    cel: `!${durationIn('holdTime')} || duration(self.holdTime) == duration('0s') || (duration(self.holdTime) >= duration('3s') && duration(self.holdTime) <= duration('65535s'))`,
    holds: ({ holdTime }) => holdTime === undefined || holdTime === 0 || (holdTime >= 3 && holdTime <= 65_535),
    broken: { holdTime: '2s' },
  },
  {
    at: 'keepaliveTime',
    message: `makes a hold time of three times that, which must be ${holdTimes}`,
    says: ({ keepaliveTime = 0 }) => `makes a hold time of ${keepaliveTime * 3}s; it must be ${holdTimes}`,
    fix: 'write for example holdTime: 90s',
    cel: `${hasText('holdTime')} || !${durationIn('keepaliveTime')} || duration(self.keepaliveTime) <= duration('21845s')`,
    holds: ({ keepaliveTime = 0 }, written) => written('holdTime') || keepaliveTime <= 21_845,
    broken: { keepaliveTime: '21846s' },
  },
  {
    at: 'keepaliveTime',
    message: 'is longer than holdTime',
    fix: 'a third of holdTime is usual',
    cel: `!(${durationIn('holdTime')} && ${durationIn('keepaliveTime')}) || duration(self.keepaliveTime) <= duration(self.holdTime)`,
    holds: ({ holdTime, keepaliveTime }) => holdTime === undefined || keepaliveTime === undefined || keepaliveTime <= holdTime,
    broken: { holdTime: '9s', keepaliveTime: '10s' },
  },
];

/** Rules between fields of a peer. */
export const bgpPeerRelations: readonly PeerRelation[] = [
  ...asns,
  ...addresses,
  ...passwords,
  ...bfd,
  ...dynamic,
  dynamicImport,
  ...vrfs,
  ...timers,
];
