import type { LoadBalancing } from '../../model/objects/load-balancing.ts';
import type { Service } from '../../model/objects/service.ts';
import { maximumTurns, type Backend, type Frontend } from '../../net/frontend.ts';
import { textHash } from '../../net/text-hash.ts';
import { slotTable, type Hashing } from './balancing.ts';
import type { Target } from './endpoints.ts';
import { beginningAt, turnOrder } from './turn-order.ts';

/** Endpoints that new connections may get, and the same as backends. Both are in backend order (`sortTargets`). */
export interface Choices {
  readonly targets: readonly Target[];
  readonly backends: readonly Backend[];
}

export const noChoices: Choices = { targets: [], backends: [] };

interface Choosing {
  readonly algorithm: LoadBalancing;
  readonly hashing: Hashing | undefined;
  /** The node that decides. */
  readonly node: string;
}

/** Returns the tables or turns by which a frontend chooses among `any` endpoints and among its `local` ones. None: at random. */
export function choosing(
  service: Service,
  { algorithm, hashing, node }: Choosing,
  any: Choices,
  local: Choices,
): Pick<Frontend, 'slots' | 'localSlots' | 'turns' | 'localTurns'> {
  const isPresent = ({ targets }: Choices): boolean => targets.length > 0;
  if (!isPresent(any)) return {};
  if (hashing !== undefined) {
    const table = ({ targets }: Choices) => slotTable(service, targets, hashing);
    return { slots: table(any), ...(isPresent(local) ? { localSlots: table(local) } : {}) };
  }
  if (algorithm !== 'round-robin' && algorithm !== 'weighted-round-robin') return {};
  const order = ({ targets }: Choices): Uint16Array => {
    const weights = targets.map(({ weight = 1 }) => (algorithm === 'weighted-round-robin' ? weight : 1));
    return beginningAt(turnOrder(weights, maximumTurns), textHash(node, turnSeed));
  };
  return { turns: order(any), ...(isPresent(local) ? { localTurns: order(local) } : {}) };
}

const turnSeed = 0x811c_9dc5;
