import { connectByKernel, type KernelContext } from './kernel-connect.ts';

/** A router that said by ICMP that the TTL of a packet had ended there. */
export interface Hop {
  /** The TTL of the packet: 1 for the first router. */
  readonly ttl: number;
  readonly from: Uint8Array;
}

/** "Time exceeded" of ICMP (RFC 792) and ICMPv6 (RFC 4443). */
const timeExceeded = { 4: 11, 6: 3 } as const;

/**
 * Finds how far TCP packets get: sends one SYN with each TTL from 1 to `most`, at once, and returns the routers that answered, the nearest
 * first. Routers need not answer, and limit how often they do; so a router that is missing proves nothing.
 */
export async function findHops(
  address: Uint8Array,
  port: number,
  { most, timeout }: { readonly most: number; readonly timeout: number },
  context: KernelContext,
): Promise<readonly Hop[]> {
  const exceeded = timeExceeded[address.length === 4 ? 4 : 6];
  const found = await Promise.all(
    Array.from({ length: most }, async (_, index): Promise<Hop[]> => {
      const { icmp } = await connectByKernel({ protocol: 'TCP', address, port, ttl: index + 1 }, timeout, context);
      return icmp?.type === exceeded ? [{ ttl: index + 1, from: icmp.from }] : [];
    }),
  );
  return found.flat();
}
