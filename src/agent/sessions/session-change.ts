import { changedFields, fieldClass, PeerOptionsError, resolveOptions, type ResolvedOptions } from '../../bgp/index.ts';
import type { SessionIntent } from '../../decisions/announcement/peers.ts';
import { peerOptions } from './speaker-input.ts';

/** Returns how a running session takes changed settings. Undefined: nothing changed, or the speaker refuses the new settings. */
export function sessionChange(
  before: SessionIntent,
  after: SessionIntent,
): { readonly change: 'reset' | 'live'; readonly fields: readonly string[] } | undefined {
  const [old, next] = [optionsOrRefusal(before), optionsOrRefusal(after)];
  // Settings that the speaker refuses leave the session as it is. A peer whose old settings were refused gets its first session.
  if (next instanceof PeerOptionsError) return undefined;
  if (old instanceof PeerOptionsError) return { change: 'reset', fields: [old.field] };
  const fields = changedFields(old, next);
  const resets = fields.some((field) => fieldClass[field] === 'reset' || fieldClass[field] === 'start');
  const all = [...fields, ...bfdChanges(before, after)];
  return all.length === 0 ? undefined : { change: resets ? 'reset' : 'live', fields: all };
}

/** Changes of BFD never end a BGP session: BFD negotiates new intervals while it runs, and strictness applies to the next session. */
function bfdChanges(before: SessionIntent, after: SessionIntent): readonly string[] {
  const hasProfileChanged = JSON.stringify(before.bfd) !== JSON.stringify(after.bfd);
  return [...(hasProfileChanged ? ['bfdProfile'] : []), ...(before.bfdStrict === after.bfdStrict ? [] : ['bfdStrict'])];
}

function optionsOrRefusal(session: SessionIntent): ResolvedOptions | PeerOptionsError {
  try {
    return resolveOptions(peerOptions(session));
  } catch (error) {
    if (error instanceof PeerOptionsError) return error;
    throw error;
  }
}
