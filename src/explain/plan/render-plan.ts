import { reasonText } from '../../model/reasons.ts';
import { withFix } from '../text/reason-lines.ts';
import type { RefusedPoolChange } from './refused-pools.ts';
import { isMove, type OwnerMove } from './owner-moves.ts';
import { isEmptyPlan, type NodeChange, type Plan, type SessionChange } from './plan.ts';

const signs = { add: '+', remove: '-', change: '~', start: '+', stop: '-', reset: '!', live: '~' } as const;

/** The changes of one kind. */
export interface PlanSection {
  readonly title: string;
  readonly lines: readonly string[];
}

/** Returns a plan as lines for a terminal: its sections, and the number of changes. `unsure`: some objects could not be read. */
export function renderPlan(plan: Plan, { unsure = false }: { readonly unsure?: boolean } = {}): string[] {
  if (isEmptyPlan(plan)) return [unsure ? 'Nothing would change in the part that could be read.' : 'Nothing would change.'];
  return [...planSections(plan).flatMap(({ title, lines }) => [title, ...lines, '']), ...planSummary(plan)];
}

/** Returns the changes by kind: + adds, - removes, ~ changes, ! resets a session. Changes that nodes share are listed once. */
export function planSections({ pools, addresses, owners, routes, rules, sessions }: Plan): PlanSection[] {
  return [
    ...section('Pools', pools.flatMap(poolLines)),
    ...section(
      'Addresses',
      addresses.map(({ service, before, after, reason }) => {
        const change = `${list(before)} -> ${list(after)}`;
        return `  ${service}: ${before.join() === after.join() ? list(after) : change}${reason === undefined ? '' : `  (${reasonText(reason)})`}`;
      }),
    ),
    ...section('Owners by ARP and NDP', owners.flatMap(ownerLines)),
    ...section('Sessions', byNode(sessions, sessionText)),
    ...section('Routes', byNode(routes, changeText)),
    ...section('Rules', byNode(rules, changeText)),
  ];
}

function section(title: string, lines: readonly string[]): PlanSection[] {
  return lines.length === 0 ? [] : [{ title, lines }];
}

/** When more nodes than this share a change, the line gives their number instead of their names. */
const namedNodes = 3;
const namedServices = 3;

function byNode<C extends { readonly node: string }>(changes: readonly C[], textOf: (change: C) => string): string[] {
  const groups = Map.groupBy(changes, textOf);
  return [...groups].map(([text, group]) => {
    const nodes = group.map(({ node }) => node);
    return `  ${text}  on ${nodes.length > namedNodes ? `${nodes.length} nodes` : nodes.join(', ')}`;
  });
}

function poolLines({ pool, reason, addresses, heldBy }: RefusedPoolChange): string[] {
  const held = heldBy.map((one) => `${one.service} (${one.addresses.join(', ')})`);
  return [
    ...withFix(`  ! ${pool}: would be refused and give none of ${addresses.join(', ')}: `, reason),
    ...(held.length === 0 ? [] : [`      Services that keep its addresses, and would get no other one from it: ${held.join(', ')}`]),
  ];
}

/** A Service whose addresses change as well has a line of its own above. */
function ownerLines(move: OwnerMove): string[] {
  const { address, services, before = 'none', after = 'none', reason, unknown } = move;
  const names = services.length > namedServices ? `${services.length} Services` : services.join(', ');
  if (unknown === true)
    return [
      `  ${address} (${names}): ${before} -> not known before nodes report their links, which the first L2Advertisement makes them do`,
    ];
  const lead = `  ${address} (${names}): ${isMove(move) ? `${before} -> ${after}` : 'none, as now'}`;
  return reason === undefined ? [lead] : withFix(`${lead}: `, reason);
}

function sessionText({ peer, change, fields }: SessionChange): string {
  const why = fields.length === 0 ? '' : ` (${fields.join(', ')})`;
  return `${signs[change]} ${peer}: ${change === 'live' ? 'changes without a reset' : change}${why}`;
}

function changeText({ change, what }: NodeChange): string {
  return `${signs[change]} ${what}`;
}

/** Counts the changes. */
export function planSummary({ addresses, owners, sessions, routes, rules }: Plan): string[] {
  const resets = sessions.filter(({ change }) => change === 'reset').length;
  const withdrawn = routes.filter(({ change }) => change === 'remove').length;
  const total = `${addresses.length} addresses, ${sessions.length} sessions, ${routes.length} routes and ${rules.length} rules would change.`;
  const lost =
    resets === 0 && withdrawn === 0 ? [] : [`Of these, ${resets} sessions would reset, and ${withdrawn} routes would be withdrawn.`];
  return [total, ...lost, ...ownerSummary(owners)];
}

function ownerSummary(owners: readonly OwnerMove[]): string[] {
  const unknown = owners.filter((one) => one.unknown === true).length;
  const moved = owners.filter((one) => one.unknown !== true && isMove(one)).length;
  const none = owners.length - unknown - moved;
  return [
    ...(moved === 0 ? [] : [`${moved} addresses would have another owner by ARP and NDP.`]),
    ...(none === 0 ? [] : [`${none} addresses would have no owner by ARP and NDP, as now, for the reason above.`]),
    ...(unknown === 0 ? [] : [`The owner of ${unknown} addresses by ARP and NDP would be known after nodes have reported their links.`]),
  ];
}

function list(addresses: readonly string[]): string {
  return addresses.length === 0 ? 'none' : addresses.join(', ');
}
