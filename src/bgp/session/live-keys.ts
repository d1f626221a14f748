import type { BgpComponents } from '../options/components.ts';
import { changedFields, fieldClass, type PeerOptions, type ResolvedOptions } from '../options/peer-options.ts';
import type { Connection } from '../transport/transport.ts';

/**
 * Returns the fields in which the options differ, without `tcpAo` if the open connections have taken the new keys. They are asked if nothing
 * else resets the session, and if it had keys before and has keys after. Without a connection the change may be a repair, and a new one is tried
 * at once.
 */
export function applyLiveKeys(
  connections: readonly Connection[],
  before: ResolvedOptions,
  after: ResolvedOptions,
  { log }: BgpComponents,
): (keyof PeerOptions)[] {
  const changed = changedFields(before, after);
  const others = changed.filter((field) => field !== 'tcpAo');
  const isReset = others.some((field) => fieldClass[field] === 'reset' || fieldClass[field] === 'start');
  const { tcpAo: keys } = after;
  if (others.length === changed.length || isReset || connections.length === 0) return changed;
  if (before.tcpAo === undefined || keys === undefined) return changed;
  const cannot = 'the transport cannot change the keys of an open connection';
  for (const connection of connections) {
    const reason = connection.replaceKeys === undefined ? cannot : connection.replaceKeys(keys);
    if (reason === undefined) continue;
    log.info({ peer: after.name, reason }, 'TCP-AO keys cannot change in the running session');
    return changed;
  }
  log.info({ peer: after.name }, 'TCP-AO keys of the running session changed');
  return others;
}
