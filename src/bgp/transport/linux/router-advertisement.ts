/**
 * The two messages of neighbour discovery that peers without addresses find each other by. Both begin with type, code and a
 * checksum that the kernel computes, and end in options of type, length in units of 8 octets, and content.
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
 * An advertisement of nothing but our presence: the lifetime of 0 says that we are no default router, and the zeros after it that
 * we do not care. `hardwareAddress`: six octets, which spare the neighbour a question.
 */
export function encodeRouterAdvertisement(hardwareAddress: Uint8Array | undefined): Uint8Array {
  return withHardwareAddress(routerAdvertisement, 16, hardwareAddress);
}

/** A request that routers advertise themselves now. */
export function encodeRouterSolicitation(hardwareAddress: Uint8Array | undefined): Uint8Array {
  return withHardwareAddress(routerSolicitation, 8, hardwareAddress);
}

function withHardwareAddress(type: number, length: number, hardwareAddress: Uint8Array | undefined): Uint8Array {
  const message = new Uint8Array(length + (hardwareAddress === undefined ? 0 : 8));
  message[0] = type;
  if (hardwareAddress !== undefined) message.set([sourceLinkLayerAddress, 1, ...hardwareAddress], length);
  return message;
}

/** The type of a message that passes the checks of RFC 4861 6.1.1 and 6.1.2, but for its addresses and hop limit; else undefined. */
export function readRouterMessage(message: Uint8Array): typeof routerSolicitation | typeof routerAdvertisement | undefined {
  const [type, code] = message;
  if (type !== routerSolicitation && type !== routerAdvertisement) return undefined;
  if (code !== 0) return undefined;
  let at = type === routerAdvertisement ? 16 : 8;
  while (at < message.length) {
    const units = message[at + 1] ?? 0;
    if (units === 0) return undefined; // Also an option that ends after its type.
    at += 8 * units;
  }
  return at === message.length ? type : undefined;
}
