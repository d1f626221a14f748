/**
 * The two neighbour discovery messages by which peers without configured addresses find each other. Both begin with type, code and a
 * checksum that the kernel computes. They end with options: type, length in units of 8 octets, and content.
 *
 *     Router Solicitation (RFC 4861 4.1)       Router Advertisement (4.2)
 *      0   133, code 0, checksum                0   134, code 0, checksum
 *      4   reserved                             4   hop limit, flags, router lifetime
 *      8   options                              8   reachable time
 *                                              12   retransmission timer
 *                                              16   options
 */
export const routerSolicitation = 133;
export const routerAdvertisement = 134;

const sourceLinkLayerAddress = 1;

/**
 * Encodes an advertisement that only shows the presence of this host. Lifetime 0 means that it is no default router; the zeros after it
 * mean "unspecified". `hardwareAddress` has six octets and saves the neighbour an address resolution.
 */
export function encodeRouterAdvertisement(hardwareAddress: Uint8Array | undefined): Uint8Array {
  return withHardwareAddress(routerAdvertisement, 16, hardwareAddress);
}

/** Encodes a request that routers send an advertisement now. */
export function encodeRouterSolicitation(hardwareAddress: Uint8Array | undefined): Uint8Array {
  return withHardwareAddress(routerSolicitation, 8, hardwareAddress);
}

function withHardwareAddress(type: number, length: number, hardwareAddress: Uint8Array | undefined): Uint8Array {
  const message = new Uint8Array(length + (hardwareAddress === undefined ? 0 : 8));
  message[0] = type;
  if (hardwareAddress !== undefined) message.set([sourceLinkLayerAddress, 1, ...hardwareAddress], length);
  return message;
}

/**
 * Returns the type of a message that passes the checks of RFC 4861 6.1.1 and 6.1.2, else undefined. The caller checks source address and
 * hop limit.
 */
export function readRouterMessage(message: Uint8Array): typeof routerSolicitation | typeof routerAdvertisement | undefined {
  const [type, code] = message;
  if (type !== routerSolicitation && type !== routerAdvertisement) return undefined;
  if (code !== 0) return undefined;
  let at = type === routerAdvertisement ? 16 : 8;
  while (at < message.length) {
    const units = message[at + 1] ?? 0;
    if (units === 0) return undefined; // also for an option that ends after its type
    at += 8 * units;
  }
  return at === message.length ? type : undefined;
}
