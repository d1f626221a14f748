import { entry } from './entry.ts';

/** Why a configuration object is left out, although each of its fields is valid by itself. */
export const configurationReasons = {
  PoolOverlaps: entry({
    brief: 'The pool overlaps another pool',
    says: (d: { readonly range: string; readonly other: string; readonly otherRange: string }) =>
      `${d.range} overlaps ${d.otherRange} of IPAddressPool "${d.other}", which came first`,
    fix: () => 'make the pools disjoint; until then this one gives no addresses',
  }),
  DuplicatePeer: entry({
    brief: 'Another BGPPeer has the same address',
    says: (d: { readonly address: string; readonly other: string }) =>
      `BGPPeer "${d.other}" already peers with ${d.address} on the same nodes`,
    fix: () => 'delete one of them, or let nodeSelectors keep them on different nodes',
  }),
  AggregationTooShort: entry({
    brief: 'The aggregate is larger than what it is made for',
    // `of` is what the prefix belongs to, for example: IPAddressPool "production".
    says: (d: { readonly length: number; readonly of: string; readonly prefix: string }) =>
      `an aggregate of length ${d.length} would cover addresses outside ${d.prefix} of ${d.of}`,
    fix: (d) => `use an aggregation length of at least ${d.prefix.slice(d.prefix.indexOf('/') + 1)}`,
  }),
  UnknownReason: entry({
    brief: 'Another version of Herald gives a reason that this one does not know',
    says: (d: { readonly code: string; readonly text: string }) => (d.text === '' ? d.code : `${d.code}: ${d.text}`),
    fix: () => '',
  }),
};
