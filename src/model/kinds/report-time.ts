import { isRecord } from '../../lang/is-record.ts';
import { limits } from '../limits.ts';
import type { RecordedTime } from '../objects/node-state.ts';
import { formatTime, parseTime } from '../time.ts';

/** The field manager of agents. */
export const agentManager = 'herald-agent';

/**
 * Returns when a report was stored: by the API server's clock, which dates each apply that changes a value (metadata.managedFields), or by
 * the time of its file. `version`: the file's modification time in nanoseconds; undefined: the object is the API server's. Returns undefined
 * when nothing shows it.
 */
export function recordedTime(metadata: unknown, version: string | undefined): RecordedTime | undefined {
  if (version !== undefined) {
    const milliseconds = /^[0-9]{1,19}$/.test(version) ? Number(BigInt(version) / 1_000_000n) : 0;
    return milliseconds > 0 ? { at: formatTime(milliseconds), by: 'file' } : undefined;
  }
  const entries: unknown = isRecord(metadata) ? metadata['managedFields'] : undefined;
  if (!Array.isArray(entries)) return undefined;
  const own = entries
    .slice(0, limits.fieldManagers)
    .filter((entry) => isRecord(entry) && entry['manager'] === agentManager && entry['subresource'] === 'status') as { time?: unknown }[];
  const times = own.flatMap(({ time }) => (typeof time === 'string' ? (parseTime(time) ?? []) : []));
  return times.length === 0 ? undefined : { at: formatTime(Math.max(...times)), by: 'API server' };
}
