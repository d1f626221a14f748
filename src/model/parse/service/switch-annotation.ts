import type { Labels } from '../../objects/metadata.ts';
import type { FieldReader } from '../../reading/fields.ts';

/**
 * Reads an annotation that is "true" or "false". An invalid value is left out, because a mistake must not stop the Service's forwarding.
 */
export function readSwitch(fields: FieldReader, values: Labels, name: string): boolean | undefined {
  const written = values[name] ?? '';
  if (written === 'true' || written === 'false') return written === 'true';
  if (written !== '') {
    fields.partialProblem(['metadata', 'annotations', name], `is ${JSON.stringify(written.slice(0, 60))}`, 'write "true" or "false"');
  }
  return undefined;
}
