/**
 * A MAC address as a number below 2^48. Numbers compare with `===`, serve as keys of a Map, and cost nothing to read from a frame.
 */
export type Mac = number;

export const macLength = 6;
export const broadcastMac: Mac = 0xffff_ffff_ffff;
export const zeroMac: Mac = 0;

const high = 2 ** 32;

/** Reads "02:00:00:00:00:01". Returns undefined for any other form. */
export function parseMac(text: string): Mac | undefined {
  return /^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/i.test(text) ? Number.parseInt(text.replaceAll(':', ''), 16) : undefined;
}

export function formatMac(mac: Mac): string {
  return (mac.toString(16).padStart(12, '0').match(/../g) ?? []).join(':');
}

/** The group bit is set (IEEE 802.3 3.2.3), also in the broadcast address. */
export function isGroupMac(mac: Mac): boolean {
  return (Math.floor(mac / 2 ** 40) & 1) === 1;
}

/** True if one host can have the address. */
export function isHostMac(mac: Mac): boolean {
  return mac !== zeroMac && !isGroupMac(mac);
}

/** Reads six octets. The caller has checked the length. */
export function readMac(octets: Uint8Array, at: number): Mac {
  const upper = ((octets[at] ?? 0) << 8) | (octets[at + 1] ?? 0);
  const lower = ((octets[at + 2] ?? 0) << 24) | ((octets[at + 3] ?? 0) << 16) | ((octets[at + 4] ?? 0) << 8) | (octets[at + 5] ?? 0);
  return upper * high + (lower >>> 0);
}

export function writeMac(octets: Uint8Array, at: number, mac: Mac): void {
  const upper = Math.floor(mac / high);
  const lower = mac % high;
  octets[at] = upper >>> 8;
  octets[at + 1] = upper;
  octets[at + 2] = lower >>> 24;
  octets[at + 3] = lower >>> 16;
  octets[at + 4] = lower >>> 8;
  octets[at + 5] = lower;
}
