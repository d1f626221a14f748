import { stat } from 'node:fs/promises';
import { defined } from '../../lang/defined.ts';
import type { Pod } from '../../model/objects/pod.ts';
import type { ReleasedAddress } from '../../model/parse/released-address.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { Store } from '../../model/store/store.ts';
import { clusterConfig } from '../../model/kinds/default-config.ts';
import type { UnreadableKind } from '../../model/store/unreadable-kind.ts';
import { previewApply } from '../../sources/kubernetes/apply-preview.ts';
import { decodeObjects, type RawObjects } from '../../sources/directory/raw-objects.ts';
import { readObjects } from '../../sources/read-objects.ts';
import { problemText, type SourceProblem } from '../../sources/source.ts';
import { requireDirectory } from '../storage/directory-storage.ts';
import { UsageError, type CommandContext } from '../context/command-context.ts';
import { exitStatus } from '../context/exit-status.ts';
import type { AskOptions, InForce } from '../reading/in-force.ts';
import { podReaderOf } from '../reading/pod-reader.ts';
import { addPlaceholderSecrets, readCluster } from '../reading/read-cluster.ts';
import { readDirectory } from '../reading/read-directory.ts';
import { readFiles, readManifestFiles } from '../reading/read-manifests.ts';
import { keptNow, type Reading } from '../reading/reading.ts';

export interface ProposalOptions extends AskOptions {
  readonly file: readonly string[];
  /** The current directory, or "none" to compare with no objects. Absent: the manifests are for a cluster. */
  readonly source?: string;
  /** Compares the manifests with an empty cluster, without reading a cluster. */
  readonly offline?: true;
  /** Also deletes Herald's configuration objects that the manifests do not contain. Only for a cluster. */
  readonly prune?: true;
}

/** The two snapshots that `herald plan` compares: the current objects, and the objects after the proposed manifests are applied. */
export interface Proposal {
  readonly current: Snapshot;
  readonly proposed: Snapshot;
  /** Problems in the proposed manifests. */
  readonly problems: readonly SourceProblem[];
  /** Errors of the current objects. Their last good versions, where there are any, are in `current`. */
  readonly currentErrors: readonly SourceProblem[];
  /** Only of a cluster with broken objects. */
  readonly inForce?: InForce;
  readonly unread: readonly UnreadableKind[];
  /** Addresses that pools keep now. Absent: none. */
  readonly released?: readonly ReleasedAddress[];
  /** Only of a cluster. Reads a current Pod, until `close`. */
  readonly readPod?: (namespace: string, name: string) => Promise<Pod | undefined>;
  readonly close?: () => void;
}

/**
 * Reads both snapshots. A proposed object with an error keeps its current version in the proposed snapshot, as it would after a real edit.
 */
export function readProposal(context: CommandContext, options: ProposalOptions): Promise<Proposal> {
  if (options.source !== undefined) return ofDirectory(context, options.file, options.source);
  return options.offline === true ? ofNothing(context, options.file) : ofCluster(context, options);
}

/** The proposed directory replaces the current one as a whole. */
async function ofDirectory(context: CommandContext, files: readonly string[], source: string): Promise<Proposal> {
  const [directory, ...others] = files;
  if (directory === undefined || directory === '-' || others.length > 0 || (await isFile(directory)))
    throw new UsageError(oneDirectory, exitStatus.usage);
  await requireDirectory(directory);
  if (source === 'none') {
    const { snapshot, problems } = await readDirectory(context, directory);
    return { current: new Store(), proposed: snapshot, problems, currentErrors: [], unread: [] };
  }
  const before = await readDirectory(context, source);
  const { snapshot: proposed, problems } = await readDirectory(context, source, (one) => one.replaceBy(directory));
  // Folders of the current directory that cannot be listed are among the problems of the proposal.
  const told = new Set(problems.map(({ file }) => file));
  return {
    current: before.snapshot,
    proposed,
    problems,
    currentErrors: errorsIn(before.problems).filter(({ file }) => !told.has(`${source}/${file}`)),
    unread: [],
    released: await keptNow(before),
  };
}

function errorsIn(problems: readonly SourceProblem[]): SourceProblem[] {
  return problems.filter(({ severity }) => severity === 'error');
}

/**
 * A directory is complete, and its objects get the defaults of a host without Kubernetes. Single files are applied to a cluster and get the
 * defaults of a cluster.
 */
const oneDirectory =
  'with --source, -f is one directory, which replaces the other: put the manifests into one directory; for a cluster that cannot be read, use --offline instead of --source none';

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() === true;
}

async function ofNothing(context: CommandContext, files: readonly string[]): Promise<Proposal> {
  const { snapshot, problems } = await readManifestFiles(context, files);
  return { current: new Store(clusterConfig), proposed: snapshot, problems, currentErrors: [], unread: [] };
}

/** Manifests are applied to a cluster: objects and fields that they do not name stay as they are. */
async function ofCluster(context: CommandContext, options: ProposalOptions): Promise<Proposal> {
  const files = await readFiles(context, options.file);
  const reading = await readCluster(context, options);
  return { ...(await applied(reading, files, { prune: options.prune === true })), close: () => reading.close() };
}

/** Manifests that were typed and are in no file. */
const typedName = 'your manifests';

/**
 * Applies typed manifests to what was read: objects that they do not name stay as they are. In a directory an object replaces the one of
 * its name as a whole; elsewhere fields that it does not name stay. The reading stays open.
 */
export async function proposeTyped(context: CommandContext, reading: Reading, text: string): Promise<Proposal> {
  if (reading.kind !== 'directory') return applied(reading, decodeObjects(typedName, text), { prune: false });
  const { snapshot, problems } = await readDirectory(context, reading.from, (one) => one.overlay(typedName, text));
  return {
    current: reading.snapshot,
    proposed: snapshot,
    problems: problems.filter(({ file }) => file === typedName),
    currentErrors: errorsIn(reading.problems),
    unread: [],
    released: await keptNow(reading),
  };
}

async function applied(reading: Reading, files: RawObjects, { prune }: { readonly prune: boolean }): Promise<Proposal> {
  const { entries, problems } = previewApply(reading.objects, files.objects, { prune });
  const proposed = readObjects(entries, reading.inForce?.versions);
  addPlaceholderSecrets(proposed.snapshot, reading.unread);
  const before = new Set(reading.problems.map(problemText));
  const ofFiles = proposed.problems.filter((problem) => problem.file !== undefined && !before.has(problemText(problem)));
  return {
    current: reading.snapshot,
    proposed: proposed.snapshot,
    problems: [...files.problems, ...problems, ...ofFiles],
    currentErrors: errorsIn(reading.problems),
    unread: reading.unread,
    released: await keptNow(reading),
    ...defined({ inForce: reading.inForce, readPod: podReaderOf(reading) }),
  };
}
