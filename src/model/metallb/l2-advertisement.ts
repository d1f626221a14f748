import type { FieldRow } from './rows.ts';

/** Fields of a metallb.io/v1beta1 L2Advertisement. */
export const l2AdvertisementRows: readonly FieldRow[] = [
  { field: 'ipAddressPools', does: 'same', text: 'Names of IPAddressPools of either group.' },
  {
    field: 'ipAddressPoolSelectors',
    does: 'same',
    text: 'An advertisement without pools and selectors covers every pool, those of herald.dev as well.',
  },
  { field: 'nodeSelectors', does: 'same', text: '' },
  {
    field: 'interfaces',
    does: 'differs',
    text: 'Without names, a node announces on the one interface whose network contains the address; MetalLB then uses every interface. A node without a fitting interface is not chosen ([L2NoInterface](reasons.md)); MetalLB may choose it, and then nobody announces.',
    translate: (value) => ({ value: Array.isArray(value) ? [...new Set(value)] : value }),
  },
  {
    field: 'serviceSelectors',
    does: 'differs',
    text: 'Services that share an address have one node, chosen for all of them. MetalLB does not announce a sharing Service that an advertisement with this field selects.',
  },
  {
    field: 'preferredNodeSelectors',
    does: 'same',
    text: 'The weights of all entries that select a node add up, also across advertisements.',
  },
];
