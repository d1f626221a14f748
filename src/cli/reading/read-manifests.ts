import { isRecord } from '../../lang/is-record.ts';
import { decodeObjects, readRawObjects, type RawObjects } from '../../sources/directory/raw-objects.ts';
import { readObjects } from '../../sources/read-objects.ts';
import type { SourceProblem } from '../../sources/source.ts';
import { readPod } from '../../model/parse/kubernetes/pod.ts';
import { UsageError, type CommandContext } from '../context/command-context.ts';
import { recordedConditions, recordedReleases } from './recorded-conditions.ts';
import type { Reading } from './reading.ts';

/** Reads the objects of files, directories and standard input ("-") without interpreting them. */
export async function readFiles(context: CommandContext, paths: readonly string[]): Promise<RawObjects> {
  const found = await Array.fromAsync(paths, async (path) =>
    path === '-' ? decodeObjects('standard input', await context.readInput()) : readRawObjects(path),
  );
  const all = { objects: found.flatMap(({ objects }) => objects), problems: found.flatMap(({ problems }) => problems) };
  if (all.objects.length === 0 && all.problems.length === 0) throw new UsageError(`there is no object in ${paths.join(' and ')}`);
  return all;
}

/**
 * Reads manifests for a cluster, or the output of `kubectl get -o yaml`, which includes records and reports. The age of a node's report is
 * its distance from the newest report.
 */
export async function readManifestFiles(context: CommandContext, paths: readonly string[]): Promise<Reading> {
  const files = await readFiles(context, paths);
  const { snapshot, problems } = readObjects(files.objects);
  const newest = [...snapshot.nodeStates.values()]
    .map(({ updated }) => updated)
    .toSorted()
    .at(-1);
  const pods = files.objects.flatMap(({ raw }) => (isPod(raw) ? (readPod(raw) ?? []) : []));
  return {
    kind: 'manifests',
    from: paths.join(' and '),
    snapshot,
    problems: [...files.problems, ...problems] satisfies SourceProblem[],
    unread: [],
    // oxlint-disable-next-line no-restricted-globals -- reading a date from text is pure
    now: newest === undefined ? context.clock.date().getTime() : Date.parse(newest),
    objects: files.objects,
    pods: async (namespace) => (pods.length === 0 ? undefined : pods.filter((pod) => pod.namespace === namespace)),
    record: async () => ({ conditions: [], events: [] }),
    conditions: async () => recordedConditions(files.objects.map(({ raw }) => raw)),
    released: async () => recordedReleases(files.objects.map(({ raw }) => raw)),
    unreadableRecord: async () => undefined,
    leadership: async () => undefined,
    close: () => undefined,
  };
}

function isPod(raw: unknown): boolean {
  return isRecord(raw) && raw['kind'] === 'Pod' && raw['apiVersion'] === 'v1';
}
