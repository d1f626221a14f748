import { ageText, secondsSince } from '../../explain/text/age.ts';
import { alikeUnqueried } from '../../explain/text/unqueried.ts';
import type { HeraldObject, KindName, Snapshot } from '../../model/store/snapshot.ts';
import { problemText, type SourceProblem } from '../../sources/source.ts';
import type { InForce, KeptInProcesses } from './in-force.ts';
import type { Reading } from './reading.ts';

/** Returns a line for each problem and each warning. */
export function problemLines(problems: readonly SourceProblem[]): string[] {
  return problems.map((problem) => `${problem.severity === 'error' ? 'problem' : 'warning'}: ${problemText(problem)}`);
}

/**
 * Returns the lines above an output: errors of the objects that were read, what is in force instead of them, and an empty line. Returns
 * nothing without errors. A cluster has only the present version of an object; its earlier version is in the memory of processes.
 */
export function linesAbove(
  problems: readonly SourceProblem[],
  { snapshot, inForce, now }: Pick<Reading, 'snapshot' | 'now'> & { readonly inForce?: InForce },
): string[] {
  const broken = problems.filter(({ severity }) => severity === 'error');
  if (broken.length === 0) return [];
  const objects = new Set(broken.flatMap(({ object, keeps = [] }) => [...(object === undefined ? [] : [object]), ...keeps]));
  const effects = inForce === undefined ? missingLines(objects, snapshot) : inForceLines(objects, inForce, now);
  return [...problemLines(broken), ...effects, ''];
}

function missingLines(objects: ReadonlySet<string>, snapshot: Snapshot): string[] {
  const missing = [...objects].filter((object) => isInForce(object, snapshot) === false);
  return missing.map((object) => `problem: nothing of ${object} is in force: no earlier good version is known`);
}

/** Says of each broken object of a cluster which processes keep an earlier version, and which were not queried. */
function inForceLines(objects: ReadonlySet<string>, { kept, unasked }: InForce, now: number): string[] {
  const about = kept.filter(({ object }) => objects.has(object));
  const names = about.map(({ object }) => object).join(' and ');
  const isKept = about.every(({ by }) => by.length > 0);
  const consequence = isKept
    ? `another version of ${names} may be in force there`
    : `an earlier version of ${names} may be in force there, and what follows may then be wrong wherever it depends on ${names}`;
  const silent = about.length === 0 ? [] : alikeUnqueried(unasked);
  return [
    ...about.flatMap((one) => keptLines(one, now)),
    ...(silent.length === 0 ? [] : [`not queried: ${silent.map(unqueriedText).join('; ')}: ${consequence}`]),
  ];
}

function keptLines({ object, isDeleted, by, since, others, without, notGiven }: KeptInProcesses, now: number): string[] {
  if (isDeleted === true && by.length === 0)
    return [
      `in force: the defaults in ${namesText(without)}: what follows is decided from them`,
      `in force: the deleted ${object} in ${namesText(others)}: there, what follows may be different`,
    ];
  const rest = isDeleted === true ? 'the defaults of HeraldConfig are in force' : `nothing of ${object} is in force`;
  const nowhere = without.length === 0 ? [] : [`problem: ${rest} in ${namesText(without)}: no earlier good version is known there`];
  if (by.length === 0) return nowhere;
  const age = secondsSince(since, now);
  const when = age === undefined ? '' : `, for ${ageText(age)},`;
  const use = notGiven ? 'it cannot be read from there, so what follows is decided without it' : 'what follows is decided from it';
  return [
    `in force: the last good version of ${object}${when} in ${namesText(by)}: ${use}`,
    ...(others.length === 0
      ? []
      : [`in force: another earlier version of ${object} in ${namesText(others)}: there, what follows may be different`]),
    ...nowhere,
  ];
}

/** Names processes, agents by their nodes: "the controller a, and the agents of n1 and n2". */
function namesText(who: readonly string[]): string {
  const [merged] = alikeUnqueried(who.map((name) => ({ who: name, ...nodeIn(name), why: '', fix: '' })));
  return merged?.who ?? '';
}

function nodeIn(who: string): { readonly node?: string } {
  const node = /^the agent of (.+)$/.exec(who)?.[1];
  return node === undefined ? {} : { node };
}

function unqueriedText({ who, why, fix }: { readonly who: string; readonly why: string; readonly fix: string }): string {
  return `${who}: ${why}${fix === '' ? '' : ` (${fix})`}`;
}

/** `object` is "IPAddressPool/main" or "Service/default/web". Undefined: it is no object that decisions read by name. */
function isInForce(object: string, snapshot: Snapshot): boolean | undefined {
  const [kind = '', ...path] = object.split('/');
  const objects = objectsIn(snapshot)[kind as KindName];
  if (objects === undefined || path.length === 0) return undefined;
  if (objects.has(path.join('/'))) return true;
  // Objects of MetalLB have a namespace, and their translation has none.
  const [namespace, name = ''] = path;
  return objects.get(name)?.metadata.origin?.namespace === namespace;
}

function objectsIn(snapshot: Snapshot): Partial<Record<KindName, ReadonlyMap<string, Pick<HeraldObject, 'metadata'>>>> {
  return {
    Service: snapshot.services,
    Node: snapshot.nodes,
    Secret: snapshot.secrets,
    IPAddressPool: snapshot.pools,
    BGPPeer: snapshot.peers,
    BGPAdvertisement: snapshot.advertisements,
    BFDProfile: snapshot.bfdProfiles,
    Community: snapshot.communities,
    ExternalIPPolicy: snapshot.externalIPPolicies,
  };
}
