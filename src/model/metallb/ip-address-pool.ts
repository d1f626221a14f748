import { normaliseRange } from './addresses.ts';
import { differs, note, type FieldRow, type TranslatedValue } from './rows.ts';

const worstPriority = 2 ** 31 - 1;

/** Fields of a metallb.io/v1beta1 IPAddressPool. */
export const poolRows: readonly FieldRow[] = [
  {
    field: 'addresses',
    does: 'differs',
    text: 'Ranges that no client can reach are refused (loopback, link-local, multicast, 240.0.0.0/4). When pools overlap, MetalLB rejects the whole configuration; in Herald one of the two gives no addresses ([PoolOverlaps](reasons.md)).',
    translate: (value) => ({ value: Array.isArray(value) ? value.map(normaliseRange) : value }),
  },
  { field: 'autoAssign', does: 'same', text: '' },
  { field: 'avoidBuggyIPs', does: 'same', text: '' },
  {
    field: 'serviceAllocation.priority',
    does: 'differs',
    text: 'The same from 0 up; below 0 it counts as 1. Pools of one priority are tried by name, in MetalLB in random order.',
    translate: priority,
  },
  { field: 'serviceAllocation.namespaces', does: 'same', text: '' },
  {
    field: 'serviceAllocation.namespaceSelectors',
    does: 'differs',
    text: 'Selectors that select no namespace select none. In MetalLB such a pool serves every namespace, unless `namespaces` has one.',
    translate: (value) => ({
      value,
      findings:
        Array.isArray(value) && value.length > 0
          ? [note('while they select no namespace the pool serves none, but MetalLB would serve all', '')]
          : [],
    }),
  },
  { field: 'serviceAllocation.serviceSelectors', does: 'same', text: '' },
];

function priority(value: unknown): TranslatedValue {
  if (typeof value !== 'number' || !Number.isInteger(value) || (value >= 0 && value <= worstPriority)) return { value };
  const nearest = value < 0 ? 1 : worstPriority;
  return { value: nearest, findings: [differs(`is ${value}, and counts as ${nearest}`, `write priorities from 1 to ${worstPriority}`)] };
}
