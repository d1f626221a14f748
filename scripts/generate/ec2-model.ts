import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { operations } from '../../providers/aws/sdk/ec2-client/operations.ts';

/** A shape as the SDK writes it: kind, name space, name, traits, and what it refers to. A reference to another shape is a function. */
type Shape = readonly [kind: number, namespace: string, name: string, ...content: unknown[]];

interface EndpointRules {
  readonly nodes: Int32Array;
  readonly root: number;
  readonly conditions: readonly unknown[];
  readonly results: readonly unknown[];
}

const require = createRequire(import.meta.url);
const sdk = '@aws-sdk/client-ec2';

/** Returns the part of the SDK's model of EC2 that Herald uses, as JSON: the shapes of its operations, and the rules for endpoints. */
export async function ec2Model(): Promise<string> {
  const client = require(sdk) as Readonly<Record<string, unknown>>;
  const shapes = new Map<string, Shape>();
  for (const operation of operations) collect(client[`${operation}$`] as Shape, shapes);
  const lines = [...shapes]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, shape]) => `    "${name}": ${JSON.stringify(named(shape))}`);
  const folder = dirname(require.resolve(`${sdk}/package.json`));
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { readonly version: string };
  const { bdd } = (await import(pathToFileURL(join(folder, 'dist-es/endpoint/bdd.js')).href)) as { readonly bdd: EndpointRules };
  const { nodes, root, conditions, results } = bdd;
  const rules = { root, nodes: [...nodes], conditions, results };
  return `{
  "source": "${sdk} ${version}, by npm run generate -- ec2-model",
  "endpoint": ${JSON.stringify(rules)},
  "shapes": {
${lines.join(',\n')}
  }
}
`;
}

/** Adds the shape and all shapes that it refers to. */
function collect(shape: Shape, shapes: Map<string, Shape>): void {
  const [, , name] = shape;
  if (shapes.has(name)) return;
  shapes.set(name, shape);
  for (const reference of referencesIn(shape)) collect(reference, shapes);
}

function referencesIn(value: unknown): Shape[] {
  if (Array.isArray(value)) return value.flatMap(referencesIn);
  const target = targetOf(value);
  return Array.isArray(target) ? [target as unknown as Shape] : [];
}

/** Replaces references by names: "#Vpc". A reference to a type that has no shape is the type's name: "unit". */
function named(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(named);
  const target = targetOf(value);
  return Array.isArray(target) ? `#${String(target[2])}` : target;
}

function targetOf(value: unknown): unknown {
  return typeof value === 'function' ? (value as () => unknown)() : value;
}
