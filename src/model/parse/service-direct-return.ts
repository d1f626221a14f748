import { annotations } from '../annotations.ts';
import type { Labels } from '../metadata.ts';
import type { Service } from '../service.ts';
import type { Fields } from './fields.ts';

/** A mistake must not take the Service's forwarding down: the annotation is left out. */
export function readDirectReturn(fields: Fields, values: Labels): Pick<Service, 'directReturn'> {
  const written = values[annotations.directReturn] ?? '';
  if (written === 'true' || written === 'false') return { directReturn: written === 'true' };
  if (written !== '') {
    fields.partialProblem(
      ['metadata', 'annotations', annotations.directReturn],
      `is ${JSON.stringify(written.slice(0, 60))}`,
      'write "true" or "false"',
    );
  }
  return {};
}
