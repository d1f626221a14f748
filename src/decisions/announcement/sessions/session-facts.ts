import { defined } from '../../../lang/defined.ts';
import type { BGPPeer } from '../../../model/kinds/types.ts';
import type { Node } from '../../../model/objects/cluster.ts';
import { formatAddress } from '../../../net/address.ts';
import { addressOfSession, carriesFamily, routerIDOf, routerOf } from '../peers.ts';

/** Facts of BGPPeer and Node about a session, for the words of its problems. Contains no password. */
export interface SessionFacts {
  readonly peer: string;
  /** "10.1.0.1", or "on eth1" for a router without a configured address. */
  readonly router: string;
  readonly port: number;
  /** The configured sourceAddress. "": the kernel chooses the address. */
  readonly local: string;
  readonly localASN: number;
  readonly localASNField: 'spec.myASN' | 'spec.localASN';
  /** "64513", "internal" or "external". */
  readonly peerASN: string;
  readonly peerASNField: 'spec.peerASN' | 'spec.dynamicASN';
  /** Where the password is: "Secret metallb-system/tor1, key password". Absent: there is none. */
  readonly passwordSource?: string;
  /** Absent: no TTL security. */
  readonly ttlSecurityHops?: number;
  readonly isMultihop: boolean;
  readonly holdTimeSeconds: number;
  /** "ipv4 ipv6", as a router's configuration writes families. */
  readonly families: string;
  /** The family that only dualStackAddressFamily asks for. Absent: none. */
  readonly addedFamily?: 'ipv4' | 'ipv6';
  readonly gracefulRestart: boolean;
  readonly routerID: string;
  /** "": none. */
  readonly bfdProfile: string;
  readonly adminDown: boolean;
  /** "": none. */
  readonly vrf: string;
}

export function sessionFacts(peer: BGPPeer, node: Node): SessionFacts {
  const peerAddress = addressOfSession(peer);
  const { sourceAddress, passwordSecret, ttlSecurityHops } = peer;
  const localASN = peer.localASN ?? peer.myASN;
  const asn = peer.peerASN ?? peer.dynamicASN ?? 'external';
  const addedFamily = peer.dualStackAddressFamily && peerAddress !== undefined ? (peerAddress.family === 4 ? 'ipv6' : 'ipv4') : undefined;
  const passwordSource =
    passwordSecret !== undefined
      ? `Secret ${passwordSecret.namespace}/${passwordSecret.name}, key password`
      : (peer.password ?? '') === ''
        ? undefined
        : 'spec.password';
  return {
    peer: peer.metadata.name,
    router: peerAddress === undefined ? `on ${peer.interface ?? '?'}` : routerOf(peer),
    port: peer.peerPort,
    local: sourceAddress === undefined ? '' : formatAddress(sourceAddress),
    localASN,
    localASNField: peer.localASN === undefined ? 'spec.myASN' : 'spec.localASN',
    peerASN: String(asn),
    peerASNField: peer.peerASN === undefined ? 'spec.dynamicASN' : 'spec.peerASN',
    ...defined({ passwordSource, ttlSecurityHops, addedFamily }),
    isMultihop: peer.ebgpMultiHop || asn === localASN || asn === 'internal' || (ttlSecurityHops ?? 1) > 1,
    holdTimeSeconds: peer.holdTimeSeconds,
    families: ([4, 6] as const)
      .filter((one) => carriesFamily(peer, one))
      .map((one) => `ipv${one}`)
      .join(' '),
    gracefulRestart: peer.enableGracefulRestart,
    routerID: formatAddress(routerIDOf(peer, node)),
    bfdProfile: peer.bfdProfile ?? '',
    adminDown: peer.adminDown,
    vrf: peer.vrf ?? '',
  };
}
