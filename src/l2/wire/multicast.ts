import type { Address } from '../../net/address.ts';
import type { Mac } from './mac.ts';

/** All nodes and all routers of a link (RFC 4291 2.7.1). */
export const allNodes: Address = { family: 6, value: (0xff02n << 112n) | 1n };
export const allRouters: Address = { family: 6, value: (0xff02n << 112n) | 2n };
export const unspecified6: Address = { family: 6, value: 0n };

/** ff02::1:ff00:0/104 (RFC 4291 2.7.1). */
const solicitedNodePrefix = (0xff02n << 112n) | 0x1_ff00_0000n;

/** The group to which a solicitation for the address is sent: its low 24 bits after a fixed prefix. Addresses may share a group. */
export function solicitedNodeGroup(address: Address): Address {
  return { family: 6, value: solicitedNodePrefix | (address.value & 0xff_ffffn) };
}

/** 33:33 and the low 32 bits of the group (RFC 2464 7). */
export function multicastMac(group: Address): Mac {
  return 0x3333_0000_0000 + Number(group.value & 0xffff_ffffn);
}

export function isMulticast(address: Address): boolean {
  return address.family === 6 && address.value >> 120n === 0xffn;
}

export function isUnspecified(address: Address): boolean {
  return address.value === 0n;
}
