import type { LiveKept } from './contract.ts';
import type { LiveList } from './live-api.ts';
import { limits } from './limits.ts';
import { pageOf } from './query.ts';

/** Serves the objects of which an earlier version is in force. `kept` is called for each request. */
export function keptList(kept: () => readonly LiveKept[]): LiveList {
  return {
    parameters: [],
    items: ({ limit, after }) => {
      const sorted = kept().toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
      const { items, ...rest } = pageOf(sorted, keyOf, { limit: Math.min(limit, limits.keptObjects), after });
      return { items: items.map(bounded), ...rest };
    },
  };
}

const keyOf = ({ kind, name }: LiveKept): string => `${kind}/${name}`;

function bounded({ inForce, ...kept }: LiveKept): LiveKept {
  return inForce === undefined || JSON.stringify(inForce).length > limits.keptCharacters ? kept : { ...kept, inForce };
}
