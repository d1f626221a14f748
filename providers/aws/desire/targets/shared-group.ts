import { defined } from '../../../../src/lang/defined.ts';
import type { Service } from '../../../../src/model/objects/service.ts';
import type { AnnotationValues } from '../../annotations/table.ts';
import type { Circumstances } from '../../model/circumstances.ts';
import { targetsAnnotation } from '../../model/service-metadata.ts';
import { parseRecord, type SharedGroup } from '../../model/targets/target-record.ts';

/** Returns what Herald has registered in a target group of the Service that others use too. Undefined: the group is Herald's alone. */
export function sharedGroupOf(
  { service, values }: { readonly service: Service; readonly values: AnnotationValues },
  key: string,
  recordedTargets: Circumstances['recordedTargets'],
): SharedGroup | undefined {
  if (values.multiCluster !== true) return undefined;
  const record = recordedTargets?.(service) ?? parseRecord(service.metadata.annotations[targetsAnnotation]);
  const recorded = record.get(key);
  return defined({ recorded: recorded === undefined ? undefined : [...recorded].toSorted() });
}
