import type { FieldRow } from './rows.ts';

const fields = ['ipAddressPools', 'ipAddressPoolSelectors', 'nodeSelectors', 'interfaces', 'serviceSelectors', 'preferredNodeSelectors'];

/** metallb.io/v1beta1 L2Advertisement: refused as a whole. */
export const layer2Rows: readonly FieldRow[] = fields.map((field) => ({ field, does: 'no', text: '' }));
