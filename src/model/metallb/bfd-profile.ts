import type { FieldRow } from './rows.ts';

/** metallb.io/v1beta1 BFDProfile. */
export const bfdRows: readonly FieldRow[] = [
  { field: 'receiveInterval', does: 'same', text: '' },
  { field: 'transmitInterval', does: 'same', text: '' },
  { field: 'detectMultiplier', does: 'same', text: '' },
  { field: 'echoInterval', does: 'differs', text: 'Read, and not used: there is no echo mode.' },
  { field: 'echoMode', does: 'differs', text: 'Read, and not used: control packets alone watch the way to the peer.' },
  { field: 'passiveMode', does: 'same', text: '' },
  { field: 'minimumTtl', does: 'same', text: '' },
];
