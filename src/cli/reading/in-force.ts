import { isRecord } from '../../lang/is-record.ts';
import { defined } from '../../lang/defined.ts';
import { livePaths, type LiveKept } from '../../live/contract.ts';
import type { KindName } from '../../model/store/snapshot.ts';
import type { RawEntry } from '../../sources/read-objects.ts';
import type { SourceProblem } from '../../sources/source.ts';
import { hiddenPassword } from '../../sources/without-passwords.ts';
import type { CommandContext } from '../context/command-context.ts';
import { limits } from '../limits.ts';
import { findProcessesIfAny, type FindProcessesOptions } from '../live/find-processes.ts';
import { askEach, fetchAllPages, noProcesses, type UnreachableProcess } from '../live/live-client.ts';

export interface AskOptions extends FindProcessesOptions {
  /** False: --no-ask. */
  readonly ask?: boolean;
  /** False: no process is asked whether it keeps a HeraldConfig that is not there. */
  readonly askForDeleted?: boolean;
}

/** A broken object of a cluster, or its deleted HeraldConfig, and the processes in which an earlier version of it is in force. */
export interface KeptInProcesses {
  /** As problems name it. */
  readonly object: string;
  /** The object was deleted. Processes without an earlier version use the defaults. */
  readonly isDeleted?: true;
  /** The processes with the version that the output is decided from. Empty: no process that was queried has one. */
  readonly by: readonly string[];
  /** When the first of them refused the present version, RFC 3339. */
  readonly since?: string;
  /** Processes with another earlier version. */
  readonly others: readonly string[];
  /** Processes that answered and keep no earlier version: they have none, or can use the present one. */
  readonly without: readonly string[];
  /** True when processes keep a version but do not have it as written, or it is very long. */
  readonly notGiven?: true;
}

/** Which versions of the broken objects of a cluster are in force, as far as processes answered. */
export interface InForce {
  readonly kept: readonly KeptInProcesses[];
  readonly unasked: readonly UnreachableProcess[];
}

interface Answers extends InForce {
  /** The versions in force as written, by object. */
  readonly versions: ReadonlyMap<string, unknown>;
}

interface WrittenObjects {
  readonly problems: readonly SourceProblem[];
  readonly written: readonly RawEntry[];
  /** Undefined: it could not be read. */
  readonly hasConfig: boolean | undefined;
}

interface Answer {
  readonly who: string;
  readonly isController: boolean;
  readonly kept: ReadonlyMap<string, LiveKept>;
}

const configName = 'HeraldConfig/default';

/** The problem of a HeraldConfig that agents keep in force after its deletion. */
export const deletedConfig: SourceProblem = {
  severity: 'error',
  object: configName,
  message: 'was deleted, and agents keep it in force (--wait-for-config)',
  fix: 'create it again',
};

/** For JSON: which versions of broken objects are in force. Nothing without broken objects. */
export function inForceJson({ inForce }: { readonly inForce?: InForce }): { readonly inForce?: InForce } {
  return inForce === undefined ? {} : { inForce: { kept: inForce.kept, unasked: inForce.unasked } };
}

/**
 * Asks controllers and agents which versions of the broken objects, or of a missing HeraldConfig, they have in force. Undefined: no object
 * is broken, and no process keeps a deleted HeraldConfig. Processes may differ, because one that starts while an object is broken has no
 * version of it. The version of a controller counts before that of an agent.
 */
export async function askInForce(
  context: CommandContext,
  options: AskOptions,
  { problems, written, hasConfig }: WrittenObjects,
): Promise<Answers | undefined> {
  const errors = problems.filter(({ severity }) => severity === 'error');
  const broken = new Set(errors.flatMap(({ object }) => (object !== undefined && isDecidedFrom(object) ? [object] : [])));
  const isDeletedPossible = hasConfig === false && options.askForDeleted !== false && !broken.has(configName);
  if (broken.size === 0 && !isDeletedPossible) return undefined;
  const { answers, unasked } = await answersOf(context, options);
  const isDeleted = isDeletedPossible && answers.some((answer) => answer.kept.has(configName));
  if (broken.size === 0 && !isDeleted) return undefined;
  const versions = new Map<string, unknown>();
  const kept = [...broken, ...(isDeleted ? [configName] : [])].map((object) => {
    const isGone = isDeleted && object === configName;
    const told = answers.flatMap((answer) => {
      const item = answer.kept.get(object);
      return item === undefined ? [] : [{ ...answer, item }];
    });
    // Controllers use the defaults after a deletion.
    const [first] = isGone && answers.some(({ isController }) => isController) ? [] : told.toSorted((a, b) => rankOf(a) - rankOf(b));
    const isSame = ({ item }: (typeof told)[number]): boolean => first !== undefined && versionOf(item) === versionOf(first.item);
    const same = told.filter(isSame);
    if (first?.item.inForce !== undefined) versions.set(object, withOwnPassword(first.item.inForce, object, written));
    const [since] = same.map(({ item }) => item.since).toSorted();
    return {
      object,
      ...(isGone ? { isDeleted: true as const } : {}),
      by: same.map(({ who }) => who),
      ...defined({ since }),
      others: told.filter((one) => !isSame(one)).map(({ who }) => who),
      without: answers.filter((answer) => !answer.kept.has(object)).map(({ who }) => who),
      ...(first !== undefined && first.item.inForce === undefined ? { notGiven: true as const } : {}),
    };
  });
  return { kept, unasked, versions };
}

/** True for a kind that decisions use. MetalLB has others, which are refused as a whole. */
function isDecidedFrom(object: string): boolean {
  return decidedFrom.has(object.replace(/(?:\.metallb\.io)?\/.*$/, ''));
}

const decidedFrom: ReadonlySet<string> = new Set<KindName>([
  'Service',
  'Node',
  'Secret',
  'IPAddressPool',
  'BGPPeer',
  'BGPAdvertisement',
  'BFDProfile',
  'Community',
  'ExternalIPPolicy',
  'HeraldConfig',
]);

async function answersOf(context: CommandContext, options: AskOptions): ReturnType<typeof askEach<Answer>> {
  const who = 'agents and controllers';
  const found = options.ask === false ? noProcesses(who, '--no-ask') : await findProcessesIfAny(context, options, {}, who);
  return askEach(found, async (client): Promise<Answer> => {
    const { items } = await fetchAllPages<LiveKept>(client, livePaths.kept, {}, limits.liveKept);
    const kept = new Map(items.map((item) => [`${item.kind}/${item.name}`, item]));
    return { who: client.who, isController: client.process.command !== 'agent', kept };
  });
}

/** Controllers come first, and versions that are given before those that are not. */
function rankOf({ isController, item }: { readonly isController: boolean; readonly item: LiveKept }): number {
  return (item.inForce === undefined ? 2 : 0) + (isController ? 0 : 1);
}

function versionOf({ inForce }: LiveKept): unknown {
  const metadata = isRecord(inForce) ? inForce['metadata'] : undefined;
  return isRecord(metadata) ? `${String(metadata['uid'])} ${String(metadata['resourceVersion'])}` : undefined;
}

/** A process does not give a password. The one of the object as written is taken to be the same. */
function withOwnPassword(version: unknown, object: string, written: readonly RawEntry[]): unknown {
  if (!isRecord(version) || !isRecord(version['spec']) || version['spec']['password'] !== hiddenPassword) return version;
  const password = written.map(({ raw }) => (nameOf(raw) === object.replace(/^[^/]*\//, '') ? passwordOf(raw) : undefined)).find(Boolean);
  return password === undefined ? version : { ...version, spec: { ...version['spec'], password } };
}

function nameOf(raw: unknown): string | undefined {
  const metadata = isRecord(raw) ? raw['metadata'] : undefined;
  if (!isRecord(metadata)) return undefined;
  const { namespace, name } = metadata;
  return typeof namespace === 'string' && namespace !== '' ? `${namespace}/${String(name)}` : String(name);
}

function passwordOf(raw: unknown): string | undefined {
  const spec = isRecord(raw) && raw['kind'] === 'BGPPeer' ? raw['spec'] : undefined;
  return isRecord(spec) && typeof spec['password'] === 'string' ? spec['password'] : undefined;
}
