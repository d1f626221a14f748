import { limits } from '../limits.ts';

/** What AWS says of one registered target: absent ones, and those that are draining, are not in the list. */
export interface Registered<T> {
  readonly target: T;
  readonly state: 'healthy' | 'initial' | 'unhealthy';
}

export interface Registration<T> {
  readonly register: readonly T[];
  readonly deregister: readonly T[];
  /** There is no room for both at once. */
  readonly deregisterFirst: boolean;
  /** Targets that leave later: until then others are not ready to take over. */
  readonly waiting: boolean;
}

export interface RegistrationInput<T> {
  readonly desired: readonly T[];
  readonly registered: readonly Registered<T>[];
  readonly keyOf: (target: T) => string;
  /** About to go: leaves as soon as another one serves. */
  readonly isDeparting: (target: T) => boolean;
  readonly quota: number;
}

/**
 * Who is registered and who leaves. New targets come first; old ones that still serve leave when no new one is on its way any more, so
 * that a switch from one set to another leaves no gap. AWS itself bounds that time: a new target becomes healthy or unhealthy.
 */
export function planRegistration<T>({ desired, registered, keyOf, isDeparting, quota }: RegistrationInput<T>): Registration<T> {
  const wanted = new Set(desired.map(keyOf));
  const present = new Map(registered.map((one) => [keyOf(one.target), one]));
  const register = desired.filter((target) => !present.has(keyOf(target)));
  const surplus = registered.filter(({ target }) => !wanted.has(keyOf(target)));
  const states = new Set(desired.map((target) => present.get(keyOf(target))?.state ?? 'initial'));
  const arriving = states.has('initial');
  const serving = states.has('healthy');
  const deregisterFirst = surplus.length > 0 && present.size + register.length > quota;
  const leaves = ({ target, state }: Registered<T>): boolean =>
    deregisterFirst || desired.length === 0 || !arriving || state === 'unhealthy' || (serving && isDeparting(target));
  const deregister = surplus.filter(leaves).map(({ target }) => target);
  return { register, deregister, deregisterFirst, waiting: deregister.length < surplus.length };
}

export function inBatches<T>(items: readonly T[]): T[][] {
  const batches: T[][] = [];
  for (let at = 0; at < items.length; at += limits.registrationBatch) batches.push(items.slice(at, at + limits.registrationBatch));
  return batches;
}
