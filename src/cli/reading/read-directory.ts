import type { ServiceKey } from '../../model/objects/metadata.ts';
import { DirectorySource } from '../../sources/directory/directory-source.ts';
import { readRecordedAddresses } from '../../sources/directory/recorded-addresses.ts';
import { silentLog } from '../../system/log.ts';
import { requireDirectory } from '../storage/directory-storage.ts';
import type { CommandContext } from '../context/command-context.ts';
import type { Reading, RecordedService } from './reading.ts';

/** Reads a directory once. `replacement` is a directory whose files replace all files of the first one, while the records stay. */
export async function readDirectory({ clock, stopped }: CommandContext, directory: string, replacement?: string): Promise<Reading> {
  await requireDirectory(directory);
  if (replacement !== undefined) await requireDirectory(replacement);
  const source = new DirectorySource(directory, { clock, log: silentLog });
  await source.start(stopped);
  if (replacement !== undefined) await source.replaceBy(replacement);
  await source.close();
  return {
    kind: 'directory',
    from: directory,
    snapshot: source.snapshot,
    problems: source.problems(),
    unread: [],
    now: clock.date().getTime(),
    objects: [],
    pods: async () => undefined,
    record: (service) => recordIn(directory, service),
    conditions: async () => (await readRecordedAddresses(directory)).conditions ?? new Map(),
    unreadableRecord: async () => (await readRecordedAddresses(directory)).unreadable.values().next().value,
    // A directory has a lock instead of a Lease.
    leadership: async () => undefined,
    close: () => undefined,
  };
}

/** A directory has no Events: its controller only logs them. */
async function recordIn(directory: string, service: ServiceKey): Promise<RecordedService> {
  const { conditions } = await readRecordedAddresses(directory);
  return { conditions: conditions?.get(service) ?? [], events: [] };
}
