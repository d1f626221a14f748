import { defined } from '../../../lang/defined.ts';
import { slotTableSizes } from '../../../net/frontend.ts';
import { annotations } from '../../annotations.ts';
import type { Labels } from '../../objects/metadata.ts';
import { loadBalancings, type Service } from '../../objects/service.ts';
import type { FieldReader } from '../../reading/fields.ts';

/** Reads how a backend is chosen. An invalid annotation is left out, because a mistake must not stop the Service's forwarding. */
export function readBalancing(
  fields: FieldReader,
  values: Labels,
  externalTrafficPolicy: Service['externalTrafficPolicy'],
): Pick<Service, 'loadBalancing' | 'hashSlots'> {
  const read = <const T extends string | number>(name: string, allowed: readonly T[]): T | undefined => {
    const written = values[name] ?? '';
    const found = allowed.find((value) => String(value) === written);
    if (written !== '' && found === undefined)
      fields.partialProblem(
        ['metadata', 'annotations', name],
        `is ${JSON.stringify(written.slice(0, 60))}`,
        `write one of ${allowed.join(', ')}`,
      );
    return found;
  };
  const loadBalancing = read(annotations.loadBalancing, loadBalancings);
  const hashSlots = read(annotations.hashSlots, slotTableSizes);
  if (loadBalancing === 'consistent' && externalTrafficPolicy === 'Local') {
    fields.warning(
      ['metadata', 'annotations', annotations.loadBalancing],
      'has no effect under externalTrafficPolicy Local: no two nodes have the same backends',
      'set spec.externalTrafficPolicy: Cluster, or remove the annotation',
    );
  }
  return { ...defined({ loadBalancing, hashSlots }) };
}
