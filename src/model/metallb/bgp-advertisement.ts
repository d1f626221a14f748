import { differs, type FieldRow, type TranslatedValue } from './rows.ts';

const aggregation =
  'An address whose aggregate would cover others outside of its block of the pool is not announced ([AggregationTooShort](reasons.md)); MetalLB looks only at the largest block of a range, and refuses the whole configuration. From 1 up.';

/** Fields of a metallb.io/v1beta1 BGPAdvertisement. */
export const advertisementRows: readonly FieldRow[] = [
  { field: 'aggregationLength', does: 'differs', text: aggregation },
  { field: 'aggregationLengthV6', does: 'differs', text: aggregation },
  {
    field: 'localPref',
    does: 'differs',
    text: "With 0, 100 is sent to internal peers, as in FRR; MetalLB's native mode sends 0. When two advertisements disagree about an address, neither announces it ([ConflictingAdvertisements](reasons.md)).",
  },
  {
    field: 'asPathPrepend',
    does: 'differs',
    text: 'Up to 32. Of several advertisements of a route the largest counts; MetalLB then rejects the whole configuration.',
  },
  {
    field: 'communities',
    does: 'differs',
    text: 'Well-known names (`no-export`) are understood without an alias; an alias of that name takes precedence. An unknown alias leaves this advertisement out; MetalLB then rejects the whole configuration.',
    translate: (value) => ({ value: Array.isArray(value) ? value.map(plainCommunity) : value }),
  },
  { field: 'ipAddressPools', does: 'same', text: 'Names of IPAddressPools of either group.' },
  {
    field: 'ipAddressPoolSelectors',
    does: 'same',
    text: 'An advertisement without pools and selectors covers every pool, those of herald.dev as well.',
  },
  { field: 'nodeSelectors', does: 'same', text: '' },
  { field: 'peers', does: 'same', text: 'Names of BGPPeers of either group.' },
  { field: 'serviceSelectors', does: 'same', text: '' },
];

/** Fields of a metallb.io/v1beta1 Community. */
export const communityRows: readonly FieldRow[] = [
  {
    field: 'communities',
    does: 'differs',
    text: 'A name begins with a letter and has letters, digits, "-", "_" and ".", up to 63; another alias is left out. If two objects define the same alias, the first object by name counts; MetalLB refuses the whole configuration.',
    translate: aliases,
  },
];

/** Removes leading zeros from numbers. MetalLB accepts them (Go's strconv.ParseUint). */
function plainCommunity(value: unknown): unknown {
  if (typeof value !== 'string' || !/^(large:)?\d+(:\d+)+$/.test(value)) return value;
  return value.replaceAll(/(^|:)0+(?=\d)/g, '$1');
}

function aliases(value: unknown): TranslatedValue {
  if (!Array.isArray(value)) return { value };
  const findings: ReturnType<typeof differs>[] = [];
  const kept = value.flatMap((item: unknown) => {
    if (typeof item !== 'object' || item === null) return [item];
    const { name, value } = item as { readonly name?: unknown; readonly value?: unknown };
    if (typeof name === 'string' && name !== '' && !/^[A-Za-z][\w.-]{0,62}$/.test(name)) {
      findings.push(differs(`${JSON.stringify(name.slice(0, 63))} is left out: it is not a valid name in Herald`, 'rename the alias'));
      return [];
    }
    return [{ ...item, value: plainCommunity(value) }];
  });
  return { value: kept, findings };
}
