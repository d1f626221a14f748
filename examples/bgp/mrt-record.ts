import type { StateName } from 'herald/bgp';
import { addressBytes, type Address } from 'herald/bgp/wire';

/** Records of RFC 6396 4.4: messages of BGP and changes of state, as route collectors store them. */
const bgp4mp = 16;
const subtype = { message: 1, messageAs4: 4, stateChangeAs4: 5 };
const stateCodes: readonly StateName[] = ['Idle', 'Connect', 'Active', 'OpenSent', 'OpenConfirm', 'Established'];

/** Both ends of a session. */
export interface Session {
  readonly peerAsn: number;
  readonly localAsn: number;
  readonly peer: Address;
  readonly local: Address;
}

/** `asn4`: the AS_PATH of the message has AS numbers of four octets. */
export function messageRecord(at: Date, session: Session, octets: Uint8Array, asn4: boolean): Uint8Array {
  return record(at, asn4 ? subtype.messageAs4 : subtype.message, [...sessionHead(session, asn4), octets]);
}

export function stateRecord(at: Date, session: Session, from: StateName, to: StateName): Uint8Array {
  const codes = [from, to].map((state) => number(stateCodes.indexOf(state) + 1, 2));
  return record(at, subtype.stateChangeAs4, [...sessionHead(session, true), ...codes]);
}

/** The common header (RFC 6396 2): time, type, subtype and length. */
function record(at: Date, kind: number, parts: readonly Uint8Array[]): Uint8Array {
  const body = Buffer.concat(parts);
  return Buffer.concat([number(Math.floor(at.getTime() / 1000), 4), number(bgp4mp, 2), number(kind, 2), number(body.length, 4), body]);
}

/** AS numbers, index of the interface (0: unknown), address family, and both addresses. */
function sessionHead({ peerAsn, localAsn, peer, local }: Session, asn4: boolean): Uint8Array[] {
  const asns = [peerAsn, localAsn].map((asn) => number(asn, asn4 ? 4 : 2));
  return [...asns, number(0, 2), number(peer.family === 4 ? 1 : 2, 2), addressBytes(peer), addressBytes(local)];
}

function number(value: number, octets: 2 | 4): Uint8Array {
  const buffer = Buffer.alloc(octets);
  buffer.writeUIntBE(value, 0, octets);
  return buffer;
}
