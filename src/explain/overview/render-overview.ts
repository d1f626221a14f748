import { causeKey } from '../../decisions/verdict/causes/causes.ts';
import { reasonText, remedyText } from '../../model/reasons.ts';
import { sharedSentence } from '../text/shared-sentence.ts';
import { shortAge } from '../text/age.ts';
import { limits } from '../limits.ts';
import { clockReason, type Overview } from './overview.ts';
import { whyNoneLeads, type Leadership } from './leadership.ts';
import { renderL2Overview } from '../l2/l2-overview.ts';
import type { KindName } from '../../model/store/snapshot.ts';
import { unshownLines } from '../unread-objects.ts';
import type { UnreadableKind } from '../../model/store/unreadable-kind.ts';
import { renderPools } from '../pools/render-pools.ts';
import { nameSome, tableLines } from '../text/table-text.ts';

/** Returns one screen of lines. `wide` lists all names where a few are listed otherwise. */
export function renderOverview(overview: Overview, wide: boolean, unread: readonly UnreadableKind[] = []): string[] {
  const { controller, nodes, sessions, services, objects, pools } = overview;
  const known = (kinds: readonly KindName[], text: string): string => (unshownLines(unread, kinds).length > 0 ? 'not known' : text);
  const some = wide ? Number.POSITIVE_INFINITY : limits.names;
  return [
    ...(controller === undefined ? [] : [`Controller  ${controllerText(controller)}`]),
    ...(overview.clockSkewSeconds === undefined ? [] : [`Clock       ${reasonText(clockReason(overview.clockSkewSeconds))}`]),
    ...(overview.unwritten ?? []).map(({ reason }) => `Records     ${reasonText(reason)}`),
    ...(overview.refused ?? []).map(({ reason }) => `Status      ${reasonText(reason)}. Fix: ${remedyText(reason)}`),
    `Nodes       ${known(['Node'], `${nodes.reporting} of ${nodes.total} report${nodes.draining.length === 0 ? '' : `, ${nodes.draining.length} drained or being drained`}`)}`,
    ...first(nodes.troubled, some, ({ node, reason, reportedSecondsAgo: age }) => {
      const last = reason.code !== 'AgentSilent' || age === undefined ? '' : ` (last report ${shortAge(age)} ago)`;
      return `${node}: ${reasonText(reason)}${last}`;
    }),
    ...first(nodes.draining, some, ({ node, phase }) => `${node}: drain ${phase}`),
    `Sessions    ${known(['Node', 'BGPPeer'], `${sessions.established} of ${sessions.expected} established`)}`,
    ...first(alikeSessions(sessions.down, some), some, (text) => text),
    ...(overview.l2 === undefined ? [] : renderL2Overview(overview.l2, wide)),
    ...(objects.length === 0 ? [] : [`Objects     ${objects.length} not as they should be`]),
    ...first(objects, some, ({ object, reason }) => `${object}: ${reason.code}: ${reasonText(reason)}`),
    `Services    ${known(['Service'], `${services.total} of type LoadBalancer, ${services.ours} of them Herald's`)}`,
    ...renderUnclaimed(services.unclaimed, some),
    ...first(services.deniedExternalIPs, some, ({ service, reason }) => `${service}: ${reasonText(reason)}`),
    ...(services.conditions.length === 0 ? [] : ['', ...renderConditions(services.conditions, some)]),
    '',
    ...renderPools({ pools, waiting: 0 }, wide, unread),
  ];
}

/** Sessions that are down, one text for those with one BGPPeer that have one cause. */
function alikeSessions(down: Overview['sessions']['down'], some: number): string[] {
  const groups = Map.groupBy(down, ({ peer, reason }) => `${peer} ${reason === undefined ? '' : causeKey(reason)}`);
  return [...groups.values()].flatMap((group) => {
    const [one] = group;
    if (one === undefined) return [];
    const reasons = group.flatMap(({ reason }) => reason ?? []);
    const why = one.reason === undefined ? 'down' : sharedSentence(one.reason, reasons);
    return [
      `${nameSome(
        group.map(({ node }) => node),
        some,
      )} ${one.peer}: ${why}`,
    ];
  });
}

function controllerText(controller: Leadership): string {
  const { lease, holder, renewedSecondsAgo: age } = controller;
  if (holder === '') return `none leads: the Lease ${lease} is free`;
  const renewed = age === undefined ? '' : `, renewed ${shortAge(age)} ago`;
  const expired = whyNoneLeads(controller) === undefined ? '' : ' (it has expired: no controller runs, or clocks differ)';
  return `${holder} leads${renewed}${expired}`;
}

function renderConditions(conditions: Overview['services']['conditions'], some: number): string[] {
  return tableLines(
    ['Condition', 'Status', 'Reason', 'Services', 'Which'],
    conditions.map(({ condition, status, reason, services }) => {
      // Healthy Services are not listed.
      const named = status === 'True' ? '' : nameSome(services, some);
      return [condition, status, reason, String(services.length), named];
    }),
  );
}

/** Prints the cause and both fixes once for all of them. */
function renderUnclaimed(unclaimed: Overview['services']['unclaimed'], some: number): string[] {
  const [one] = unclaimed;
  if (one === undefined) return [];
  const services = unclaimed.map(({ service }) => service);
  return [
    `            ${unclaimed.length} served by no controller: ${nameSome(services, some)}`,
    `            ${one.reason.code}: ${reasonText(one.reason)}`,
    `            fix: ${remedyText(one.reason)}`,
  ];
}

function first<T>(all: readonly T[], some: number, text: (one: T) => string): string[] {
  const shown = all.slice(0, some).map((one) => `            ${text(one)}`);
  return all.length > some ? [...shown, `            and ${all.length - some} more`] : shown;
}
