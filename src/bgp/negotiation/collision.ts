import type { OpenMessage } from '../wire/open.ts';

/** Who opened a connection, seen from here. */
export type Direction = 'dialed' | 'accepted';

interface Speaker {
  readonly routerId: number;
  readonly asn: number;
}

/**
 * Both have connected to each other: which of the two connections lives. The one that the speaker with the larger BGP
 * identifier has opened (RFC 4271 6.8); between equal identifiers, which are legal in different ASes, the larger AS number
 * decides (RFC 6286 2.3). Both sides come to the same answer.
 */
export function connectionToKeep(local: Speaker, remote: Speaker): Direction {
  if (local.routerId !== remote.routerId) return local.routerId > remote.routerId ? 'dialed' : 'accepted';
  return local.asn > remote.asn ? 'dialed' : 'accepted';
}

/**
 * The peer opens another connection while a session is established. One that says it has restarted did so before we noticed,
 * and the old connection is dead (RFC 4724 5). Otherwise the session stays (RFC 4271 6.8).
 */
export function hasRestartBit(open: OpenMessage): boolean {
  const offer = open.capabilities.findLast(({ kind }) => kind === 'gracefulRestart');
  return offer?.kind === 'gracefulRestart' && offer.restarted;
}

/** The peer is one that comes back with its routes in place after a restart, and not one that only bears with the restarts of others. */
export function restartsGracefully(open: OpenMessage | undefined): boolean {
  const offer = open?.capabilities.findLast(({ kind }) => kind === 'gracefulRestart');
  return offer?.kind === 'gracefulRestart' && offer.families.length > 0;
}
