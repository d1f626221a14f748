import { limits } from '../../model/limits.ts';

type State = 'healthy' | 'initial' | 'unhealthy';

/** What AWS says of one registered target: absent ones, and those that are draining, are not in the list. */
export interface Registered<T> {
  readonly target: T;
  readonly state: State;
}

interface Registration<T> {
  readonly register: readonly T[];
  readonly deregister: readonly T[];
  /** Healthy ones remain: who leaves does so also where AWS refuses new ones, perhaps for want of room. */
  readonly othersServe: boolean;
  /** Targets that leave later: until then others are not ready to take over. */
  readonly waiting: boolean;
  /** New targets for which there is no room yet. */
  readonly withoutRoom: number;
}

interface RegistrationInput<T> {
  readonly desired: readonly T[];
  readonly registered: readonly Registered<T>[];
  /** Those that are draining: they need room as well. */
  readonly draining: readonly T[];
  readonly keyOf: (target: T) => string;
  /** Its zone; undefined: not known, or it is in none. */
  readonly zoneOf: (target: T) => string | undefined;
  /** About to go: leaves as soon as another one serves. */
  readonly isDeparting: (target: T) => boolean;
  /** How many AWS takes, unless more than that are desired. */
  readonly quota: number;
}

/**
 * Who is registered and who leaves. New targets come first; old ones that still serve leave when no new one is on its way any more, so
 * that a switch from one set to another leaves no gap. AWS itself bounds that time: a new target becomes healthy or unhealthy.
 *
 * Where there is no room for all, as many come as fit. When it is known what these are worth, old ones make room for the others, a fifth of the quota at a time.
 */
export function planRegistration<T>(input: RegistrationInput<T>): Registration<T> {
  const { desired, registered, draining, keyOf, zoneOf, isDeparting, quota } = input;
  const wanted = new Set(desired.map(keyOf));
  const present = new Map(registered.map((one) => [keyOf(one.target), one]));
  const register = fitting(input, present);
  const arrivals = [...register, ...desired.filter((target) => present.has(keyOf(target)))];
  const stateOf = (target: T): State => present.get(keyOf(target))?.state ?? 'initial';
  const states = new Set(arrivals.map(stateOf));
  const missing = desired.length - arrivals.length;
  const surplus = registered.filter(({ target }) => !wanted.has(keyOf(target)));
  const zones = surplus.some(({ target }) => isDeparting(target)) ? statesByZone(arrivals, zoneOf, stateOf) : undefined;
  const leavesNow = ({ target, state }: Registered<T>): boolean => {
    if (desired.length === 0 || state === 'unhealthy') return true;
    if (missing === 0 && !states.has('initial')) return true;
    const near = zones?.get(zoneOf(target));
    // A client that knows the address of a zone reaches only the targets there.
    const isAwaited = near?.has('initial') === true && !near.has('healthy');
    return isDeparting(target) && states.has('healthy') && !isAwaited;
  };
  const leaving = surplus.filter(leavesNow);
  const staying = surplus.filter((one) => !leavesNow(one));
  // Those that drain make room already.
  const needed = Math.min(missing, Math.ceil(quota / 5)) - leaving.length - draining.length;
  const madeRoom = states.has('initial') ? [] : staying.slice(0, Math.max(0, needed));
  const deregister = [...leaving, ...madeRoom].map(({ target }) => target);
  const going = new Set(deregister.map(keyOf));
  const othersServe = registered.some(({ target, state }) => state === 'healthy' && !going.has(keyOf(target)));
  return { register, deregister, othersServe, waiting: deregister.length < surplus.length, withoutRoom: missing };
}

/** New targets, as many as there is room for. One that is draining keeps its place. */
function fitting<T>({ desired, draining, keyOf, quota }: RegistrationInput<T>, present: ReadonlyMap<string, unknown>): T[] {
  const leaving = new Set(draining.map(keyOf));
  const missing = desired.filter((target) => !present.has(keyOf(target)));
  const returning = missing.filter((target) => leaving.has(keyOf(target)));
  const others = missing.filter((target) => !leaving.has(keyOf(target)));
  const room = Math.max(quota, desired.length) - present.size - leaving.size;
  return [...returning, ...others.slice(0, Math.max(0, room))];
}

function statesByZone<T>(targets: readonly T[], zoneOf: (target: T) => string | undefined, stateOf: (target: T) => State) {
  const zones = new Map<string | undefined, Set<State>>();
  for (const target of targets) {
    const zone = zoneOf(target);
    if (zone !== undefined) zones.set(zone, (zones.get(zone) ?? new Set()).add(stateOf(target)));
  }
  return zones;
}

export function inBatches<T>(items: readonly T[]): T[][] {
  const batches: T[][] = [];
  for (let at = 0; at < items.length; at += limits.registrationBatch) batches.push(items.slice(at, at + limits.registrationBatch));
  return batches;
}
