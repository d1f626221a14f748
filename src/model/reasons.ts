import assert from 'node:assert';
import { visibleText } from '../lang/visible-text.ts';
import { allocationReasons } from './reasons/allocation.ts';
import { announcementReasons } from './reasons/announcement.ts';
import { receivedRouteReasons } from './reasons/bgp/received-routes.ts';
import { sessionReasons } from './reasons/bgp/session.ts';
import { checkReasons } from './reasons/checks.ts';
import { configurationReasons } from './reasons/configuration.ts';
import { directReturnReasons } from './reasons/direct-return.ts';
import { explanationReasons } from './reasons/explanation.ts';
import { forwardingReasons } from './reasons/forwarding.ts';
import { hostReasons } from './reasons/host.ts';
import { l2Reasons } from './reasons/l2.ts';
import { providerReasons } from './reasons/provider.ts';
import type { AnyReasonEntry, ReasonTable } from './reasons/entry.ts';
import { providerReason } from './provider-tables.ts';

/**
 * The catalogue of the core's reasons. A code is stable and appears in conditions, Events and metrics. `brief` and `lasting` contain no
 * counts, so that a condition does not change while it waits. `says` and `fix` are shown by `explain`. Providers bring tables of their own.
 */
export const catalogue = {
  ...allocationReasons,
  ...announcementReasons,
  ...sessionReasons,
  ...receivedRouteReasons,
  ...configurationReasons,
  ...forwardingReasons,
  ...checkReasons,
  ...directReturnReasons,
  ...hostReasons,
  ...l2Reasons,
  ...providerReasons,
  ...explanationReasons,
};

/** The tables that type reasons. A provider that ships with Herald adds its own by module augmentation, so that its codes can be narrowed. */
export interface ReasonTables {
  readonly core: typeof catalogue;
}

export type ReasonCode = { [T in keyof ReasonTables]: keyof ReasonTables[T] & string }[keyof ReasonTables];

type EntryOf<C> = { [T in keyof ReasonTables]: C extends keyof ReasonTables[T] ? ReasonTables[T][C] : never }[keyof ReasonTables];
type DetailsOf<C> = EntryOf<C> extends { readonly says: (details: infer D) => string } ? D : never;

/** Why a decision is negative: a code of a table and the details for its texts. Plain data that survives JSON and YAML. */
export type Reason = { readonly [C in ReasonCode]: { readonly code: C; readonly details: DetailsOf<C> } }[ReasonCode];

export function reason<C extends ReasonCode>(code: C, details: DetailsOf<C>): Reason {
  return { code, details } as unknown as Reason;
}

/** Returns the function that makes the reasons of a provider's own table. */
export function reasonsOf<T extends ReasonTable>(
  _table: T,
): <C extends keyof T & string>(code: C, details: Parameters<T[C]['says']>[0]) => Reason {
  return (code, details) => ({ code, details }) as unknown as Reason;
}

/**
 * Details in which reasons of several nodes differ although their cause is the same: the name of the node, its address and router ID in a
 * session, also in hints of the fix, when it saw the cause, its latest symptom, until when it holds a session back, and how often that went down.
 */
export const detailsOfOneNode: ReadonlySet<string> = new Set(['node', 'local', 'routerID', 'hints', 'since', 'latest', 'until', 'flaps']);

/** Returns the stable one-line text for conditions. */
export function conditionText(reason: Reason): string {
  return stableText(reason) ?? entryOf(reason).brief;
}

/** Returns the text that distinguishes mistakes of one code. Undefined when the code is enough. */
export function stableText(reason: Reason): string | undefined {
  const text = entryOf(reason).lasting?.(reason.details as never);
  return text === undefined ? undefined : visibleText(text);
}

/** Returns the full sentence, with names and numbers. Like all texts of reasons without invisible characters: details may quote text of any author. */
export function reasonText(reason: Reason): string {
  return visibleText(entryOf(reason).says(reason.details as never));
}

/** Returns the fix. "" when nothing needs to be done. */
export function remedyText(reason: Reason): string {
  return visibleText(entryOf(reason).fix(reason.details as never));
}

/** True when nobody answers clients for this reason, although the Service has the load balancer that it asks for. */
export function isUnserved(reason: Reason): boolean {
  return entryOf(reason).unserved?.(reason.details as never) === true;
}

/** True when clients may be answered now, but will not be for long for this reason. */
export function isEndangered(reason: Reason): boolean {
  return entryOf(reason).endangered === true;
}

/** True for the code of a reason that is in a condition which is True only when nobody answers clients. */
export function tellsUnserved(code: string): boolean {
  return findEntry(code)?.unserved !== undefined;
}

/** True when a table has the code. A code that another version wrote may be unknown. */
export function isKnownCode(code: string): code is ReasonCode {
  return findEntry(code) !== undefined;
}

/** Returns the entry of a code. Undefined: no table has it. */
export function findEntry(code: string): AnyReasonEntry | undefined {
  return Object.hasOwn(catalogue, code) ? catalogue[code as keyof typeof catalogue] : providerReason(code);
}

function entryOf({ code }: Reason): AnyReasonEntry {
  const entry = findEntry(code);
  assert(entry !== undefined, `no table has reason ${code}: the composition root adds the tables of a provider before it is used`);
  return entry;
}
