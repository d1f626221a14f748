import { stringify } from 'yaml';
import { HeraldInLab } from '../herald.ts';
import { Lab } from '../lab.ts';
import { standardTopology } from '../standard-topology.ts';
import { manifestsBefore, type PlacedCase, type PlacedProblem } from './all-cases.ts';
import type { Mistake, Scene } from './misconfiguration.ts';
import { fabric, nodes as allNodes } from './fabric.ts';
import type { Manifest } from './objects.ts';
import type { Place } from './place.ts';

type Placed = PlacedCase | PlacedProblem | { readonly one: Omit<Mistake, 'code'>; readonly place: Place };

interface StageOptions {
  readonly nodes: readonly string[];
  readonly fabric: readonly Manifest[];
}

/** Starts a lab with the cases before their mistakes: every Service that exists is served. By default with all nodes. */
export async function startStage(cases: readonly Placed[], options?: StageOptions): Promise<Scene> {
  const { nodes } = options ?? { nodes: allNodes };
  const pods = nodes.map((node) => ({ name: `web-${node.replace('node', '')}`, node }));
  const lab = await Lab.start(standardTopology({ nodes: nodes.length, pods }));
  const herald = await HeraldInLab.empty(lab);
  const scene = { lab, herald, nodes };
  await herald.write('00-fabric.yaml', yamlOf(options?.fabric ?? fabric()));
  for (const placed of cases) {
    const { one, place } = placed;
    await one.prepare?.(scene, place);
    await writeCase(scene, placed, manifestsBefore(placed));
  }
  await herald.start(nodes);
  return scene;
}

/** Replaces the manifests of a case. */
export function writeCase({ herald }: Scene, { one }: Placed, manifests: readonly Manifest[]): Promise<void> {
  return herald.write(`${one.name}.yaml`, yamlOf(manifests));
}

/** Makes the mistakes of all cases. */
export async function makeMistakes(scene: Scene, cases: readonly Placed[]): Promise<void> {
  for (const placed of cases) {
    const { one, place } = placed;
    if (one.after !== undefined) await writeCase(scene, placed, one.after(place));
    await one.act?.(scene, place);
  }
}

/** Undoes the mistakes of all cases, the last first, because some rest on an earlier one. */
export async function repair(scene: Scene, cases: readonly Placed[]): Promise<void> {
  for (const placed of cases.toReversed()) {
    const { one, place } = placed;
    if (one.after !== undefined) await writeCase(scene, placed, manifestsBefore(placed));
    await one.undo?.(scene, place);
  }
}

/** Returns one document for each manifest. */
export const yamlOf = (manifests: readonly Manifest[]): string => manifests.map((one) => stringify(one)).join('---\n');
