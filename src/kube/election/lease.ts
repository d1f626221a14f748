import { defined } from '../../lang/defined.ts';
import type { Lease, LeaseTerm } from './lease-object.ts';

/**
 * Leader election as a state machine: events in, state and effects out. Follows client-go's election and its timing. Two clocks are never
 * compared: a Lease has expired when *we* saw no change of it for its duration, by our own clock.
 */
export type LeaseState =
  /** Others may lead. `asked` is the request in progress. */
  | { readonly phase: 'standby'; readonly observed?: Observed; readonly asked?: Asked; readonly again?: true }
  /** We lead until `renewedAt` plus the deadline. */
  | { readonly phase: 'leading'; readonly lease: Lease; readonly renewedAt: number; readonly asked?: Asked }
  /** We were told to stop. We release the Lease that we have, or may get by the request in progress. */
  | { readonly phase: 'stopping'; readonly lease?: Lease; readonly releasing: boolean }
  | { readonly phase: 'ended' };

interface Observed {
  readonly lease: Lease;
  /** When we first saw this version. */
  readonly since: number;
}

interface Asked {
  readonly what: 'read' | 'write';
  /** When the request began. Others see the change later, so our term counts from here. */
  readonly at: number;
}

export type LeaseEvent =
  /** The time of the last `wait` is over. */
  | { readonly type: 'due' }
  /** The watch reported a change of the Lease. */
  | { readonly type: 'changed' }
  /** Undefined when there is no Lease. */
  | { readonly type: 'read'; readonly lease: Lease | undefined }
  | { readonly type: 'written'; readonly lease: Lease }
  /** `raced`: the Lease is not there any more as we knew it (404, 409). */
  | { readonly type: 'failed'; readonly raced: boolean }
  | { readonly type: 'stop' };

export type LeaseEffect =
  | { readonly do: 'read' }
  /** `over` undefined creates the Lease. */
  | { readonly do: 'write'; readonly term: LeaseTerm; readonly over: Lease | undefined }
  /** Replaces an earlier wait. */
  | { readonly do: 'wait'; readonly milliseconds: number }
  | { readonly do: 'lead' }
  | { readonly do: 'end'; readonly because: 'lost' | 'stopped' };

export interface LeaseTiming {
  readonly leaseMilliseconds: number;
  readonly renewDeadlineMilliseconds: number;
  readonly retryMilliseconds: number;
  /** A waiting process prolongs its pause by up to this fraction, so that not all ask at once. */
  readonly retryJitter: number;
}

interface LeaseContext {
  readonly identity: string;
  readonly timing: LeaseTiming;
  /** Milliseconds of a monotonic clock. */
  readonly now: number;
  /** In [0, 1). */
  readonly random: number;
}

interface LeaseStep {
  readonly state: LeaseState;
  readonly effects: readonly LeaseEffect[];
}

export const initialLeaseState: LeaseState = { phase: 'standby' };

export function step(state: LeaseState, event: LeaseEvent, context: LeaseContext): LeaseStep {
  switch (state.phase) {
    case 'standby':
      return inStandby(state, event, context);
    case 'leading':
      return whileLeading(state, event, context);
    case 'stopping':
      return whileStopping(state, event, context);
    case 'ended':
      return { state, effects: [] };
  }
}

/** Returns until when a leader may begin a write, by our clock. Undefined when we do not lead. */
export function leadsUntil(state: LeaseState, { renewDeadlineMilliseconds }: LeaseTiming): number | undefined {
  return state.phase === 'leading' ? state.renewedAt + renewDeadlineMilliseconds : undefined;
}

type In<P extends LeaseState['phase']> = Extract<LeaseState, { phase: P }>;

const read: LeaseEffect = { do: 'read' };

function inStandby(state: In<'standby'>, event: LeaseEvent, context: LeaseContext): LeaseStep {
  const { now } = context;
  const { observed, asked } = state;
  switch (event.type) {
    case 'due':
    case 'changed':
      if (asked === undefined) return reading(observed, now);
      // The response in progress may be older than the reported change.
      return { state: event.type === 'changed' ? { ...state, again: true } : state, effects: [] };
    case 'read':
      return decide(observe(observed, event.lease, now), state.again === true, context);
    case 'written':
      // The write took so long that others may have seen the Lease expire again, so its result counts like any other holder's.
      if (asked?.what !== 'write' || now >= asked.at + context.timing.renewDeadlineMilliseconds) return reading(observed, now);
      return leading(event.lease, asked.at, context, [{ do: 'lead' }]);
    case 'failed':
      if (event.raced && asked?.what === 'write') return reading(observed, now);
      return waiting(observed, pause(context));
    case 'stop':
      if (asked?.what === 'write') return { state: { phase: 'stopping', releasing: false }, effects: [] };
      return ended('stopped');
  }
}

function reading(observed: Observed | undefined, now: number): LeaseStep {
  return { state: { phase: 'standby', ...defined({ observed }), asked: { what: 'read', at: now } }, effects: [read] };
}

function waiting(observed: Observed | undefined, milliseconds: number): LeaseStep {
  return { state: { phase: 'standby', ...defined({ observed }) }, effects: [{ do: 'wait', milliseconds }] };
}

/** The duration counts from when the Lease was first seen, whatever times it contains. */
function observe(before: Observed | undefined, lease: Lease | undefined, now: number): Observed | undefined {
  if (lease === undefined) return undefined;
  return before?.lease.version === lease.version ? before : { lease, since: now };
}

/** Acquires the Lease when it is free or expired; otherwise waits until that may be so. */
function decide(observed: Observed | undefined, again: boolean, context: LeaseContext): LeaseStep {
  const { identity, timing, now } = context;
  const holder = observed?.lease.holder ?? '';
  const left = observed === undefined ? 0 : observed.since + durationOf(observed.lease, timing) - now;
  // The Lease is ours: an earlier write took effect and its response was lost.
  if (holder !== '' && holder !== identity && left > 0) {
    if (again) return reading(observed, now);
    return waiting(observed, Math.min(pause(context), left + context.random * timing.retryMilliseconds * expiryJitter));
  }
  const before = observed?.lease;
  const ours = holder === identity;
  const term = {
    holder: identity,
    durationSeconds: timing.leaseMilliseconds / 1000,
    transitions: before === undefined ? 0 : before.transitions + (ours ? 0 : 1),
    acquireTime: ours ? before?.acquireTime : undefined,
  };
  return {
    state: { phase: 'standby', ...defined({ observed }), asked: { what: 'write', at: now } },
    effects: [{ do: 'write', term, over: before }],
  };
}

/** A Lease without a duration counts with ours. */
function durationOf({ durationSeconds }: Lease, { leaseMilliseconds }: LeaseTiming): number {
  return durationSeconds > 0 ? durationSeconds * 1000 : leaseMilliseconds;
}

/** Spreads processes that saw the Lease expire at the same moment. */
const expiryJitter = 0.25;

function pause({ timing, random }: LeaseContext): number {
  return timing.retryMilliseconds * (1 + timing.retryJitter * random);
}

function whileLeading(state: In<'leading'>, event: LeaseEvent, context: LeaseContext): LeaseStep {
  const { now, timing, identity } = context;
  const { lease, renewedAt, asked } = state;
  const left = renewedAt + timing.renewDeadlineMilliseconds - now;
  switch (event.type) {
    case 'due':
      if (asked !== undefined) return { state, effects: [] };
      return left > 0 ? renewing(lease, renewedAt, context) : ended('lost');
    case 'changed':
      // The Lease expires by itself, or the next renewal fails.
      return { state, effects: [] };
    case 'written':
      if (asked?.what !== 'write' || now >= asked.at + timing.renewDeadlineMilliseconds) return ended('lost');
      return leading(event.lease, asked.at, context, []);
    case 'read':
      // The response to a renewal was lost, or another program changed the object. A process that takes the Lease writes its own name.
      if (event.lease?.holder !== identity || left <= 0) return ended('lost');
      return renewing(event.lease, renewedAt, context);
    case 'failed':
      if (left <= 0) return ended('lost');
      if (event.raced) return { state: { phase: 'leading', lease, renewedAt, asked: { what: 'read', at: now } }, effects: [read] };
      return {
        state: { phase: 'leading', lease, renewedAt },
        effects: [{ do: 'wait', milliseconds: Math.min(timing.retryMilliseconds, left) }],
      };
    case 'stop':
      if (asked !== undefined) return { state: { phase: 'stopping', lease, releasing: false }, effects: [] };
      return releasing(lease);
  }
}

function leading(lease: Lease, renewedAt: number, { timing }: LeaseContext, effects: readonly LeaseEffect[]): LeaseStep {
  return {
    state: { phase: 'leading', lease, renewedAt },
    effects: [...effects, { do: 'wait', milliseconds: timing.retryMilliseconds }],
  };
}

function renewing(lease: Lease, renewedAt: number, { identity, timing, now }: LeaseContext): LeaseStep {
  const term = { ...lease, holder: identity, durationSeconds: timing.leaseMilliseconds / 1000 };
  return {
    state: { phase: 'leading', lease, renewedAt, asked: { what: 'write', at: now } },
    effects: [{ do: 'write', term, over: lease }],
  };
}

function whileStopping(state: In<'stopping'>, event: LeaseEvent, { identity }: LeaseContext): LeaseStep {
  switch (event.type) {
    case 'due':
    case 'changed':
    case 'stop':
      return { state, effects: [] };
    case 'written':
      return state.releasing ? ended('stopped') : releasing(event.lease);
    case 'read':
      return event.lease?.holder === identity ? releasing(event.lease) : ended('stopped');
    case 'failed':
      // One attempt is enough: the Lease expires by itself.
      return state.releasing || state.lease === undefined ? ended('stopped') : releasing(state.lease);
  }
}

/** As client-go does: no holder, and a duration of one second. */
function releasing(lease: Lease): LeaseStep {
  const term = { ...lease, holder: '', durationSeconds: 1 };
  return { state: { phase: 'stopping', lease, releasing: true }, effects: [{ do: 'write', term, over: lease }] };
}

function ended(because: 'lost' | 'stopped'): LeaseStep {
  return { state: { phase: 'ended' }, effects: [{ do: 'end', because }] };
}
