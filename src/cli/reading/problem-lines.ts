import type { HeraldObject, KindName, Snapshot } from '../../model/store/snapshot.ts';
import type { Reading } from './reading.ts';
import { problemText, type SourceProblem } from '../../sources/source.ts';

/** Returns a line for each problem and each warning. */
export function problemLines(problems: readonly SourceProblem[]): string[] {
  return problems.map((problem) => `${problem.severity === 'error' ? 'problem' : 'warning'}: ${problemText(problem)}`);
}

/**
 * Returns the lines above an output: errors of the objects that were read, broken objects that are not in force, and an empty line. Returns
 * nothing without errors. A process that reads a cluster keeps last good versions in its memory, so there the lines say that they are unknown.
 */
export function linesAbove(problems: readonly SourceProblem[], { snapshot, kind }: Pick<Reading, 'snapshot' | 'kind'>): string[] {
  const broken = problems.filter(({ severity }) => severity === 'error');
  if (broken.length === 0) return [];
  const objects = new Set(broken.flatMap(({ object }) => object ?? []));
  const missing = [...objects].filter((object) => isInForce(object, snapshot) === false);
  const effect = (object: string): string =>
    kind === 'cluster'
      ? `an earlier good version of ${object} may be in force in processes that read it: that is not known here, and the output is without it`
      : `nothing of ${object} is in force: no earlier good version is known`;
  return [...problemLines(broken), ...missing.map((object) => `problem: ${effect(object)}`), ''];
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
