import { differs, note, type FieldRow } from './rows.ts';

/** Fields of a metallb.io/v1beta1 BFDProfile. */
export const bfdRows: readonly FieldRow[] = [
  { field: 'receiveInterval', does: 'same', text: '' },
  { field: 'transmitInterval', does: 'same', text: '' },
  { field: 'detectMultiplier', does: 'same', text: '' },
  {
    field: 'echoInterval',
    does: 'no',
    text: 'Read but not used: there is no echo mode.',
    translate: (value) => ({ value, findings: [note('is not used: there is no echo mode', '')] }),
  },
  {
    field: 'echoMode',
    does: 'no',
    text: 'Read but not used: control packets alone monitor the path, at `receiveInterval` and `transmitInterval`.',
    translate: (value) => ({
      value,
      findings: value === true ? [differs('is not used: there is no echo mode', 'shorten receiveInterval and transmitInterval')] : [],
    }),
  },
  { field: 'passiveMode', does: 'same', text: '' },
  { field: 'minimumTtl', does: 'same', text: '' },
];
