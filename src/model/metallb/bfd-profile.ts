import type { FieldRow } from './rows.ts';

/** metallb.io/v1beta1 BFDProfile. */
export const bfdRows: readonly FieldRow[] = [
  { field: 'receiveInterval', does: 'same', text: '' },
  { field: 'transmitInterval', does: 'same', text: '' },
  { field: 'detectMultiplier', does: 'same', text: '' },
  { field: 'echoInterval', does: 'same', text: '' },
  { field: 'echoMode', does: 'same', text: '' },
  { field: 'passiveMode', does: 'same', text: '' },
  { field: 'minimumTtl', does: 'same', text: '' },
];
