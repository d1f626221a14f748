import { changedFields, fieldClass, PeerOptionsError, resolveOptions, type PeerOptions, type ResolvedOptions } from '../../bgp/index.ts';
import type { SessionIntent } from '../../decisions/announcement/peers.ts';
import { withoutPrefix } from '../../net/prefix.ts';
import { peerGroupOptions, peerOptions } from './speaker-input.ts';

interface ChangedSession {
  readonly change: 'reset' | 'live';
  readonly fields: readonly string[];
  /** Of the fields, those without which on the router the session does not come up again. Absent: none. */
  readonly agreed?: readonly string[];
}

/** Returns how a running session takes changed settings. Undefined: nothing changed, or the speaker refuses the new settings. */
export function sessionChange(before: SessionIntent, after: SessionIntent): ChangedSession | undefined {
  if ((before.dynamicNeighbors === undefined) !== (after.dynamicNeighbors === undefined)) {
    return { change: 'reset', fields: ['dynamicNeighbors'] };
  }
  const [old, next] = [optionsOrRefusal(before), optionsOrRefusal(after)];
  // Settings that the speaker refuses leave the session as it is. A peer whose old settings were refused gets its first session.
  if (next instanceof PeerOptionsError) return undefined;
  if (old instanceof PeerOptionsError) return { change: 'reset', fields: [old.field] };
  const isDynamic = after.dynamicNeighbors !== undefined;
  const fields = changedFields(old, next).filter((field) => !isDynamic || !ofOneRouter.has(field));
  const neighbours = neighbourChanges(before, after);
  const resets = neighbours.resets || fields.some((field) => fieldClass[field] === 'reset' || fieldClass[field] === 'start');
  const all = [...neighbours.fields, ...fields, ...bfdChanges(before, after)];
  if (all.length === 0) return undefined;
  if (!resets) return { change: 'live', fields: all };
  const agreed = all.filter((field) => agreedFields.has(field) && !(field === 'peerAsn' && isStillAccepted(before, after)));
  return { change: 'reset', fields: all, ...(agreed.length === 0 ? {} : { agreed }) };
}

/** Settings that both sides of a session must have. Those of dynamic neighbours concern some routers only. */
const agreedFields: ReadonlySet<string> = new Set<keyof PeerOptions>([
  'address',
  'interface',
  'vrf',
  'port',
  'localAsn',
  'peerAsn',
  'sourceAddress',
  'password',
  'ttlSecurityHops',
]);

/** True when the AS number of the router, as far as it was known, is one that the new setting accepts. */
function isStillAccepted({ peerASN: before }: SessionIntent, { peerASN: after, localASN }: SessionIntent): boolean {
  return typeof before === 'number' && (after === 'external' ? before !== localASN : after === 'internal' && before === localASN);
}

/** Changes of BFD never end a BGP session: BFD negotiates new intervals while it runs, and strictness applies to the next session. */
function bfdChanges(before: SessionIntent, after: SessionIntent): readonly string[] {
  const hasProfileChanged = JSON.stringify(before.bfd) !== JSON.stringify(after.bfd);
  return [...(hasProfileChanged ? ['bfdProfile'] : []), ...(before.bfdStrict === after.bfdStrict ? [] : ['bfdStrict'])];
}

/** Options that a group of routers does not have. */
const ofOneRouter: ReadonlySet<string> = new Set(['address', 'port', 'connectRetryTime'] satisfies (keyof PeerOptions)[]);

/** Routers outside the new ranges lose their sessions, and other AS numbers reset all. A smaller maximum ends none. */
function neighbourChanges(before: SessionIntent, after: SessionIntent): { readonly fields: readonly string[]; readonly resets: boolean } {
  const [old, next] = [peerGroupOptions(before), peerGroupOptions(after)];
  const ranges = before.dynamicNeighbors?.ranges ?? [];
  const newRanges = after.dynamicNeighbors?.ranges ?? [];
  const differ = (field: 'ranges' | 'peerAsns' | 'maximumPeers'): boolean => textOf(old[field]) !== textOf(next[field]);
  const hasLost = ranges.some(
    (range) => newRanges.reduce((left, one) => left.flatMap((part) => withoutPrefix(part, one)), [range]).length > 0,
  );
  return {
    fields: [
      ...(differ('ranges') ? ['dynamicNeighbors.ranges'] : []),
      ...(differ('peerAsns') ? ['dynamicNeighbors.asns'] : []),
      ...(differ('maximumPeers') ? ['dynamicNeighbors.maximum'] : []),
    ],
    resets: hasLost || differ('peerAsns'),
  };
}

const textOf = (value: unknown): string =>
  JSON.stringify(value, (_, one: unknown) => (typeof one === 'bigint' ? one.toString() : one)) ?? '';

function optionsOrRefusal(session: SessionIntent): ResolvedOptions | PeerOptionsError {
  try {
    return resolveOptions(peerOptions(session));
  } catch (error) {
    if (error instanceof PeerOptionsError) return error;
    throw error;
  }
}
