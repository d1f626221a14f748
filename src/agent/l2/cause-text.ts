import type { ClaimEvent } from '../../l2/index.ts';

/** Why the state of an address changed on a node, for a sentence about this node. */
export const causeTexts: Readonly<Record<ClaimEvent | 'removed', string>> = {
  elected: 'it is the best placed node that lives',
  electedFirst: 'it is the best placed node that lives',
  deferred: 'a better placed node lives',
  excluded: 'it is no candidate for the address any more',
  heardBetter: 'a better placed node announced the address',
  heardWorse: 'another node announced the address',
  heardForeign: 'a host that is no node claimed the address',
  heardForeignWithdraw: 'a host that is no node claimed the address',
  foreignProbe: 'a host that is no node asked whether the address is taken',
  probesSilent: 'no other host answered for the address',
  doubt: 'the agent did not run for a moment, or the link was down',
  confirmed: 'no other node took the address meanwhile',
  deadline: 'the time for it was over',
  stop: 'the agent stops',
  removed: 'the node does not announce the address any more',
};
