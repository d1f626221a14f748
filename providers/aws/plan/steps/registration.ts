import { limits } from '../../model/limits.ts';

type State = 'healthy' | 'initial' | 'unhealthy';

/** A registered target with its health. Draining targets are not included. */
export interface Registered<T> {
  readonly target: T;
  readonly state: State;
}

interface Registration<T> {
  readonly register: readonly T[];
  readonly deregister: readonly T[];
  /** True if healthy targets remain. Then targets are deregistered even if AWS refuses new ones, perhaps for lack of room. */
  readonly othersServe: boolean;
  /** True if old targets are deregistered later, because others are not ready to replace them. */
  readonly waiting: boolean;
  /** Number of new targets for which there is no room yet. */
  readonly withoutRoom: number;
}

interface RegistrationInput<T> {
  readonly desired: readonly T[];
  readonly registered: readonly Registered<T>[];
  /** Draining targets. They need room too. */
  readonly draining: readonly T[];
  readonly keyOf: (target: T) => string;
  /** Returns the zone of a target. Undefined: unknown, or in no zone. */
  readonly zoneOf: (target: T) => string | undefined;
  /** True for a target that is about to disappear. It is deregistered as soon as another one serves. */
  readonly isDeparting: (target: T) => boolean;
  /** True for a target that stays although no other one is desired. Absent: then all leave. */
  readonly stays?: (target: T) => boolean;
  /** True for a target without whose deregistration AWS refuses a desired one. It is deregistered at once. */
  readonly isInTheWay?: (target: T) => boolean;
  /** The number of targets that AWS allows. It is exceeded only if more targets are desired. */
  readonly quota: number;
}

/**
 * Decides which targets are registered and deregistered. New targets come first. Old targets that still serve are deregistered when no new
 * one is pending, so that replacing all targets leaves no gap. AWS bounds this time: a new target becomes healthy or unhealthy.
 *
 * Without room for all, as many new targets are registered as fit. When their health is known, old targets make room for the rest, a fifth
 * of the quota at a time.
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
    if (desired.length === 0) return input.stays?.(target) !== true;
    if (state === 'unhealthy' || input.isInTheWay?.(target) === true) return true;
    if (missing === 0 && !states.has('initial')) return true;
    const near = zones?.get(zoneOf(target));
    // A client that uses the address of one zone reaches only the targets in that zone.
    const isAwaited = near?.has('initial') === true && !near.has('healthy');
    return isDeparting(target) && states.has('healthy') && !isAwaited;
  };
  const leaving = surplus.filter(leavesNow);
  const staying = surplus.filter((one) => !leavesNow(one));
  // Draining targets already make room.
  const needed = Math.min(missing, Math.ceil(quota / 5)) - leaving.length - draining.length;
  const madeRoom = states.has('initial') ? [] : staying.slice(0, Math.max(0, needed));
  const deregister = [...leaving, ...madeRoom].map(({ target }) => target);
  const going = new Set(deregister.map(keyOf));
  const othersServe = registered.some(({ target, state }) => state === 'healthy' && !going.has(keyOf(target)));
  return { register, deregister, othersServe, waiting: deregister.length < surplus.length, withoutRoom: missing };
}

/** Returns the new targets for which there is room. A draining target that is wanted again keeps its place. */
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

export function inBatches<T>(items: readonly T[], size: number = limits.registrationBatch): T[][] {
  const batches: T[][] = [];
  for (let at = 0; at < items.length; at += size) batches.push(items.slice(at, at + size));
  return batches;
}

/** Sorts targets so that any number of the first ones is spread evenly over the zones. */
export function acrossZones<T>(targets: readonly T[], zoneOf: (target: T) => string | undefined): T[] {
  const zones = [...Map.groupBy(targets, zoneOf).values()];
  const longest = Math.max(0, ...zones.map((zone) => zone.length));
  return Array.from({ length: longest }, (_, at) => zones.flatMap((zone) => zone.slice(at, at + 1))).flat();
}
