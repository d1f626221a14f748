import { DirectorySource } from '../../sources/directory/directory-source.ts';
import { readPoolRecords, readRecordedAddresses } from '../../sources/directory/recorded-addresses.ts';
import type { Clock } from '../../system/clock.ts';
import { silentLog } from '../../system/log.ts';
import { requireDirectory } from '../storage/directory-storage.ts';
import type { CommandContext } from '../context/command-context.ts';
import type { Reading } from './reading.ts';

/** Reads a directory once. `edit` changes what was read, for a preview. */
export async function readDirectory(
  { clock, stopped }: CommandContext,
  directory: string,
  edit?: (source: DirectorySource) => Promise<void>,
): Promise<Reading> {
  await requireDirectory(directory);
  const source = new DirectorySource(directory, { clock, log: silentLog });
  await source.start(stopped);
  await source.findEndedAgents();
  await edit?.(source);
  await source.close();
  return directoryReading(source, directory, clock);
}

/** Returns the present state of a source that has started. */
export function directoryReading(source: DirectorySource, directory: string, clock: Clock): Reading {
  let reading: ReturnType<typeof readRecordedAddresses> | undefined;
  const records = (): ReturnType<typeof readRecordedAddresses> => (reading ??= readRecordedAddresses(directory));
  return {
    kind: 'directory',
    from: directory,
    snapshot: source.snapshot,
    problems: source.problems(),
    unread: [],
    now: clock.date().getTime(),
    objects: [],
    pods: async () => undefined,
    // A directory has no Events: its controller only logs them.
    record: async (service) => ({ conditions: (await records()).conditions?.get(service) ?? [], events: [] }),
    conditions: async () => (await records()).conditions ?? new Map(),
    released: async () => (await readPoolRecords(directory)).released,
    unreadableRecord: async () => (await records()).unreadable.values().next().value,
    // A directory has a lock instead of a Lease.
    leadership: async () => undefined,
    close: () => undefined,
  };
}
