import type { makeBuilder } from '@smithy/core/client';
import model from './model.json' with { type: 'json' };
import type { Ec2Operation } from './operations.ts';

/** The rules by which the SDK finds the endpoint of EC2. */
export const endpointRules = model.endpoint;

type OperationShape = Parameters<ReturnType<typeof makeBuilder>>[3];

const shapes = model.shapes as Readonly<Record<string, readonly unknown[]>>;
const resolved = new Map<string, unknown>();

/** Returns the shape of an operation, as the SDK's serializers read it. */
export function operationShape(operation: Ec2Operation): OperationShape {
  return shapeOf(operation) as OperationShape;
}

function shapeOf(name: string): unknown {
  const known = resolved.get(name);
  if (known !== undefined) return known;
  const shape = withReferences(shapes[name]);
  resolved.set(name, shape);
  return shape;
}

/** The SDK expects functions as references. In JSON they are names: "#Vpc". */
function withReferences(value: unknown): unknown {
  if (typeof value === 'string' && value.startsWith('#')) return () => shapeOf(value.slice(1));
  return Array.isArray(value) ? value.map(withReferences) : value;
}
