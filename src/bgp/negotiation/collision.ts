import type { OpenMessage } from '../wire/open.ts';

/** The side that opened a connection, seen from this speaker. */
export type Direction = 'dialed' | 'accepted';

interface Speaker {
  readonly routerId: number;
  readonly asn: number;
}

/**
 * Chooses one of two connections after a connection collision. The connection opened by the speaker with the larger BGP identifier stays
 * (RFC 4271 6.8). Equal identifiers are legal in different ASes; then the larger AS number decides (RFC 6286 2.3). Both sides come to the
 * same answer.
 */
export function connectionToKeep(local: Speaker, remote: Speaker): Direction {
  if (local.routerId !== remote.routerId) return local.routerId > remote.routerId ? 'dialed' : 'accepted';
  return local.asn > remote.asn ? 'dialed' : 'accepted';
}

/**
 * Tells whether the peer restarted before it sent this OPEN (Restart State bit, RFC 4724 3). If such an OPEN comes while a session is
 * established, the old connection is dead (RFC 4724 5). Without the bit the established session stays (RFC 4271 6.8).
 */
export function hasRestartBit(open: OpenMessage): boolean {
  const offer = open.capabilities.findLast(({ kind }) => kind === 'gracefulRestart');
  return offer?.kind === 'gracefulRestart' && offer.restarted;
}

/** Tells whether the peer keeps forwarding across its own restarts. A peer that lists no family only helps others to restart. */
export function restartsGracefully(open: OpenMessage | undefined): boolean {
  const offer = open?.capabilities.findLast(({ kind }) => kind === 'gracefulRestart');
  return offer?.kind === 'gracefulRestart' && offer.families.length > 0;
}
