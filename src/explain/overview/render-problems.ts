import { tableLines } from '../text/table-text.ts';
import type { KindName } from '../../model/store/snapshot.ts';
import type { UnreadableKind } from '../../model/store/unreadable-kind.ts';
import { unshownLines } from '../unread-objects.ts';
import type { Problem } from './problem.ts';

/** Kinds without which problems are not known. */
export const kindsOfProblems: readonly KindName[] = ['Service', 'Node', 'IPAddressPool', 'BGPPeer'];

/** Returns one line for each problem. `wide` names all objects where the first is named otherwise. */
export function renderProblems(
  { problems }: { readonly problems: readonly Problem[] },
  wide: boolean,
  unread: readonly UnreadableKind[] = [],
): string[] {
  const unshown = unshownLines(unread, kindsOfProblems);
  if (problems.length === 0) return unshown.length > 0 ? unshown : ['No problems.'];
  return tableLines(
    ['Object', 'Reason', 'Problem'],
    problems.map(({ object, others = [], code, line }) => {
      const more = others.length === 0 ? '' : wide ? `, ${others.join(', ')}` : ` and ${others.length} more`;
      return [`${object}${more}`, code, line];
    }),
  );
}
