import { allocationReasons } from './reasons/allocation.ts';
import { announcementReasons } from './reasons/announcement.ts';
import { awsReasons } from './reasons/aws.ts';
import { receivedRouteReasons } from './reasons/bgp/received-routes.ts';
import { sessionReasons } from './reasons/bgp/session.ts';
import { configurationReasons } from './reasons/configuration.ts';
import { directReturnReasons } from './reasons/direct-return.ts';
import { explanationReasons } from './reasons/explanation.ts';
import { forwardingReasons } from './reasons/forwarding.ts';
import { hostReasons } from './reasons/host.ts';
import { l2Reasons } from './reasons/l2.ts';
import { providerReasons } from './reasons/provider.ts';

/**
 * The catalogue of all reasons that Herald gives. A code is stable and appears in conditions, Events and metrics. `brief` and `lasting`
 * contain no counts, so that a condition does not change while it waits. `says` and `fix` are shown by `explain`.
 */
export const catalogue = {
  ...allocationReasons,
  ...announcementReasons,
  ...sessionReasons,
  ...receivedRouteReasons,
  ...configurationReasons,
  ...forwardingReasons,
  ...directReturnReasons,
  ...hostReasons,
  ...l2Reasons,
  ...awsReasons,
  ...providerReasons,
  ...explanationReasons,
};

export type ReasonCode = keyof typeof catalogue;

type DetailsOf<C extends ReasonCode> = Parameters<(typeof catalogue)[C]['says']>[0];

/** Why a decision is negative: a code of the catalogue and the details for its texts. Plain data that survives JSON and YAML. */
export type Reason = { readonly [C in ReasonCode]: { readonly code: C; readonly details: DetailsOf<C> } }[ReasonCode];

export function reason<C extends ReasonCode>(code: C, details: DetailsOf<C>): Reason {
  return { code, details } as unknown as Reason;
}

/**
 * Details in which reasons of several nodes differ although their cause is the same: the name of the node, its address and router ID in a
 * session, when it saw the cause, its latest symptom, until when it holds a session back, and how often that went down.
 */
export const detailsOfOneNode: ReadonlySet<string> = new Set(['node', 'local', 'routerID', 'since', 'latest', 'until', 'flaps']);

/** Returns the stable one-line text for conditions. */
export function conditionText(reason: Reason): string {
  return stableText(reason) ?? catalogue[reason.code].brief;
}

/** Returns the text that distinguishes mistakes of one code. Undefined when the code is enough. */
export function stableText(reason: Reason): string | undefined {
  const text = catalogue[reason.code].lasting as ((details: unknown) => string) | undefined;
  return text?.(reason.details);
}

/** Returns the full sentence, with names and numbers. */
export function reasonText(reason: Reason): string {
  const text = catalogue[reason.code].says as (details: unknown) => string;
  return text(reason.details);
}

/** Returns the fix. "" when nothing needs to be done. */
export function remedyText(reason: Reason): string {
  const text = catalogue[reason.code].fix as (details: unknown) => string;
  return text(reason.details);
}
