import type { LoadBalancing } from '../../model/objects/load-balancing.ts';
import type { Service } from '../../model/objects/service.ts';
import { countedTurnsFor, maximumTurns, type Backend, type CountedBy, type Frontend } from '../../net/frontend.ts';
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
  /** As in Counting. */
  readonly servicePort: string;
}

type Chosen = Pick<Frontend, 'slots' | 'localSlots' | 'turns' | 'localTurns' | 'counting'>;

/** Returns the tables or turns by which a frontend chooses among `any` endpoints and among its `local` ones. None: at random. */
export function choosing(service: Service, { algorithm, hashing, node, servicePort }: Choosing, any: Choices, local: Choices): Chosen {
  if (!isPresent(any)) return {};
  if (hashing !== undefined) {
    const table = ({ targets }: Choices) => slotTable(service, targets, hashing);
    return { slots: table(any), ...(isPresent(local) ? { localSlots: table(local) } : {}) };
  }
  const first = textHash(node, turnSeed);
  const by = countedBy[algorithm];
  const isWeighted = algorithm !== 'round-robin' && by !== 'connections';
  if (by === undefined && isWeighted && algorithm !== 'weighted-round-robin') return {};
  const weights = ({ targets }: Choices): readonly number[] => targets.map(({ weight = 1 }) => (isWeighted ? weight : 1));
  const order = (choices: Choices): Uint16Array => {
    const once = beginningAt(turnOrder(weights(choices), maximumTurns), first);
    // The data plane sets the order by connections, which it knows. It keeps the number of turns.
    return by === undefined ? once : repeated(once, countedTurnsFor(choices.targets.length));
  };
  return {
    turns: order(any),
    ...(isPresent(local) ? { localTurns: order(local) } : {}),
    ...(by === undefined ? {} : { counting: { by, servicePort, weights: weights(any), localWeights: weights(local), first } }),
  };
}

const turnSeed = 0x811c_9dc5;

const isPresent = ({ targets }: Choices): boolean => targets.length > 0;

const repeated = (order: Uint16Array, turns: number): Uint16Array =>
  Uint16Array.from({ length: turns }, (_, turn) => order[turn % order.length] ?? 0);

/** The algorithms that count connections. */
const countedBy: Partial<Readonly<Record<LoadBalancing, CountedBy>>> = {
  'least-connections': 'connections',
  'weighted-least-connections': 'weighted',
  'shortest-expected-delay': 'delay',
  'never-queue': 'idle',
};
