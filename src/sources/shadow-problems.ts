import type { MergedObjects } from '../model/metallb/merge.ts';
import { originText } from '../model/objects/metadata.ts';
import type { SourceProblem } from './source.ts';

/** Reports objects that are valid but unused because of their name. */
export function shadowProblems(objects: MergedObjects): SourceProblem[] {
  return objects.shadowed().map(({ origin, by }) => ({
    severity: 'warning',
    object: originText(origin),
    message: `is not used: ${by} has the same name`,
    fix: 'delete one of the two, or rename it',
  }));
}
