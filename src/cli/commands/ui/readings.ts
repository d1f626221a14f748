import { DirectorySource } from '../../../sources/directory/directory-source.ts';
import { silentLog } from '../../../system/log.ts';
import type { CommandContext } from '../../context/command-context.ts';
import { openReading, type ReadingOptions } from '../../reading/open-reading.ts';
import { directoryReading } from '../../reading/read-directory.ts';
import type { Reading } from '../../reading/reading.ts';
import { ReportWatch } from './report-watch.ts';
import { requireDirectory } from '../../storage/directory-storage.ts';

/** Reads the same place again and again. */
export interface Readings {
  readonly intervalMilliseconds: number;
  /** `isNew`: objects may have changed since the last call. The reading before the last one is closed. */
  next(): Promise<{ readonly reading: Reading; readonly isNew: boolean }>;
  /** Resolves when objects have changed since the last call of `next`. Absent: nothing tells. */
  readonly changed?: () => Promise<void>;
  close(): Promise<void>;
}

/** A directory is watched, and agents of this host answer at once. */
const directoryMilliseconds = 500;
/** A cluster is read as a whole. Between two reads the nodes' reports are followed. */
const clusterMilliseconds = 5000;

export async function openReadings(context: CommandContext, options: ReadingOptions): Promise<Readings> {
  if (options.source !== undefined && options.file === undefined) return watchDirectory(context, options.source);
  if (options.file === undefined) return followCluster(context, options);
  return repeat(context, options);
}

async function watchDirectory({ clock, stopped }: CommandContext, directory: string): Promise<Readings> {
  await requireDirectory(directory);
  const source = new DirectorySource(directory, { clock, log: silentLog });
  let isNew = true;
  source.onChange(() => (isNew = true));
  source.onProblem(() => (isNew = true));
  await source.start(stopped);
  return {
    intervalMilliseconds: directoryMilliseconds,
    async next() {
      const was = (await source.findEndedAgents()) || isNew;
      isNew = false;
      return { reading: directoryReading(source, directory, clock), isNew: was };
    },
    close: () => source.close(),
  };
}

/** Reads a cluster again and again. The sessions of a node are in its report, so a new report is in the next reading without a list. */
async function followCluster(context: CommandContext, options: ReadingOptions): Promise<Readings> {
  const { clock } = context;
  const whole = repeat(context, options);
  const reports = await ReportWatch.start(context, options);
  let last: { readonly reading: Reading; readonly at: number } | undefined;
  return {
    intervalMilliseconds: whole.intervalMilliseconds,
    changed: () => reports.changed,
    async next() {
      const changed = reports.take();
      if (last === undefined || clock.now() - last.at >= clusterMilliseconds) {
        const { reading } = await whole.next();
        last = { reading, at: clock.now() };
        return { reading, isNew: true };
      }
      for (const report of changed) last.reading.update?.(report);
      return { reading: { ...last.reading, now: clock.date().getTime() }, isNew: changed.length > 0 };
    },
    async close() {
      await reports.close();
      await whole.close();
    },
  };
}

function repeat(context: CommandContext, options: ReadingOptions): Readings {
  if (options.file?.includes('-') === true) {
    // Standard input can be read once.
    const once = openReading(context, options);
    return {
      intervalMilliseconds: clusterMilliseconds,
      next: async () => ({ reading: await once, isNew: false }),
      close: async () => undefined,
    };
  }
  const open: Reading[] = [];
  return {
    intervalMilliseconds: clusterMilliseconds,
    async next() {
      const reading = await openReading(context, options);
      open.push(reading);
      // An explanation may still use the last one.
      if (open.length > 2) open.shift()?.close();
      return { reading, isNew: true };
    },
    async close() {
      for (const reading of open) reading.close();
    },
  };
}
