import type { Lease, LeaseTerm } from './lease-object.ts';

/**
 * Who leads, as a state machine: events in, state and effects out. It is client-go's election, with its timing. Two clocks are never
 * compared: a Lease has expired when *we* have seen no change of it for as long as it says, by our own clock.
 */
export type LeaseState =
  /** Others may lead. `asked`: a request is under way. */
  | { readonly phase: 'standby'; readonly observed?: Observed; readonly asked?: Asked; readonly again?: true }
  /** We lead until `renewedAt` plus the deadline. */
  | { readonly phase: 'leading'; readonly lease: Lease; readonly renewedAt: number; readonly asked?: Asked }
  /** We were told to stop, and give back what we have, or may have as soon as the request that is under way is answered. */
  | { readonly phase: 'stopping'; readonly lease?: Lease; readonly releasing: boolean }
  | { readonly phase: 'ended' };

interface Observed {
  readonly lease: Lease;
  /** When we saw it in this version for the first time. */
  readonly since: number;
}

interface Asked {
  readonly what: 'read' | 'write';
  /** When it was: whoever sees the change sees it later, so what it gives us is counted from here. */
  readonly at: number;
}

export type LeaseEvent =
  /** The time of the last `wait` is over. */
  | { readonly type: 'due' }
  /** The watch tells that somebody changed the Lease. */
  | { readonly type: 'changed' }
  /** Undefined: there is no Lease. */
  | { readonly type: 'read'; readonly lease: Lease | undefined }
  | { readonly type: 'written'; readonly lease: Lease }
  /** `raced`: it is not there any more as we knew it (404, 409). */
  | { readonly type: 'failed'; readonly raced: boolean }
  | { readonly type: 'stop' };

export type LeaseEffect =
  | { readonly do: 'read' }
  /** `over` undefined: creates it. */
  | { readonly do: 'write'; readonly term: LeaseTerm; readonly over: Lease | undefined }
  /** Replaces the wait before. */
  | { readonly do: 'wait'; readonly milliseconds: number }
  | { readonly do: 'lead' }
  | { readonly do: 'end'; readonly because: 'lost' | 'stopped' };

export interface LeaseTiming {
  readonly leaseMilliseconds: number;
  readonly renewDeadlineMilliseconds: number;
  readonly retryMilliseconds: number;
  /** The pause of one that waits is longer by up to this part of it, so that not all ask at once. */
  readonly retryJitter: number;
}

interface LeaseContext {
  readonly identity: string;
  readonly timing: LeaseTiming;
  /** Milliseconds on a monotonic scale. */
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

/** Until when a leader may begin to write, by our clock; undefined: it is none. */
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
      // The answer that is under way may be older than what we were told of.
      return { state: event.type === 'changed' ? { ...state, again: true } : state, effects: [] };
    case 'read':
      return decide(observe(observed, event.lease, now), state.again === true, context);
    case 'written':
      // So long under way that others may have seen it expire again: it counts as what anybody's would.
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
  return { state: { phase: 'standby', ...seen(observed), asked: { what: 'read', at: now } }, effects: [read] };
}

function waiting(observed: Observed | undefined, milliseconds: number): LeaseStep {
  return { state: { phase: 'standby', ...seen(observed) }, effects: [{ do: 'wait', milliseconds }] };
}

function seen(observed: Observed | undefined): { observed?: Observed } {
  return observed === undefined ? {} : { observed };
}

/** It counts from when it was seen for the first time, whatever it says of itself. */
function observe(before: Observed | undefined, lease: Lease | undefined, now: number): Observed | undefined {
  if (lease === undefined) return undefined;
  return before?.lease.version === lease.version ? before : { lease, since: now };
}

/** Takes the Lease where nobody has it, or whoever had it has let it expire; else waits until that can be. */
function decide(observed: Observed | undefined, again: boolean, context: LeaseContext): LeaseStep {
  const { identity, timing, now } = context;
  const holder = observed?.lease.holder ?? '';
  const left = observed === undefined ? 0 : observed.since + durationOf(observed.lease, timing) - now;
  // Ours: a write of ours took effect, and its answer was lost.
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
    state: { phase: 'standby', ...seen(observed), asked: { what: 'write', at: now } },
    effects: [{ do: 'write', term, over: before }],
  };
}

/** Whoever does not say for how long counts as one of us. */
function durationOf({ durationSeconds }: Lease, { leaseMilliseconds }: LeaseTiming): number {
  return durationSeconds > 0 ? durationSeconds * 1000 : leaseMilliseconds;
}

/** Of several that saw it expire at the same moment, one should come first. */
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
      // By ourselves, or the next renewal fails.
      return { state, effects: [] };
    case 'written':
      if (asked?.what !== 'write' || now >= asked.at + timing.renewDeadlineMilliseconds) return ended('lost');
      return leading(event.lease, asked.at, context, []);
    case 'read':
      // The answer to a renewal was lost, or somebody else touched the object; one who takes it from us writes his name.
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
      // Once is enough: it expires by itself.
      return state.releasing || state.lease === undefined ? ended('stopped') : releasing(state.lease);
  }
}

/** As client-go does: nobody holds it, and it expires within a second. */
function releasing(lease: Lease): LeaseStep {
  const term = { ...lease, holder: '', durationSeconds: 1 };
  return { state: { phase: 'stopping', lease, releasing: true }, effects: [{ do: 'write', term, over: lease }] };
}

function ended(because: 'lost' | 'stopped'): LeaseStep {
  return { state: { phase: 'ended' }, effects: [{ do: 'end', because }] };
}
