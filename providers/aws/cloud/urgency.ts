import type { Urgency } from '../../../src/controller/provider-parts.ts';
import { CallContext } from '../../../src/system/call-context.ts';

/** The order in which calls to AWS are made when they have to wait: lower first. */
export const ranks: Readonly<Record<Urgency, number>> = { new: 0, change: 1, repair: 2, reread: 3 };

const context = new CallContext<Urgency>();

/** Runs work whose calls to AWS, including those that it causes later, have this urgency. */
export function withUrgency<T>(urgency: Urgency, work: () => T): T {
  return context.run(urgency, work);
}

/** The urgency of the calls made now. Calls outside of `withUrgency` are those of a command that a person waits for. */
export function currentUrgency(): Urgency {
  return context.value ?? 'change';
}
