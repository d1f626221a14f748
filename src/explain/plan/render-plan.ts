import { reasonText } from '../../model/reasons.ts';
import { countText } from '../text/count-text.ts';
import { withFix } from '../text/reason-lines.ts';
import type { RefusedPoolChange } from './refused-pools.ts';
import { isMove, type OwnerMove } from './owner-moves.ts';
import { countChangedAddresses, isEmptyPlan, sameAddresses, type Plan, type SessionChange } from './plan.ts';
import type { DrainChange, NodeChange } from './route-changes.ts';
import type { DivertedAddress, UnannouncedAddress } from './unannounced.ts';

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

/**
 * Returns the changes by kind: + adds, - removes, ~ changes in place, ! resets a session. Changes that nodes share are listed once. Kinds
 * without a change are left out.
 */
export function planSections(plan: Plan): PlanSection[] {
  const { pools, addresses, owners, routes, rules, sessions, drains, unannounced, unanswered, diverted } = plan;
  return [
    ...section('Pools', pools.flatMap(poolLines)),
    ...section(
      'Addresses',
      addresses.map(({ service, before, after, reason, requestedBy }) => {
        const kept = after.length === 0 ? 'none' : `keeps ${list(after)}`;
        const change = sameAddresses(before, after) ? kept : `${list(before)} -> ${list(after)}`;
        const by = requestedBy === undefined ? '' : `  requested by ${requestedBy.join(' and ')}`;
        return `  ${service}: ${change}${by}${reason === undefined ? '' : `  (${reasonText(reason)})`}`;
      }),
    ),
    ...section('Addresses that no node would announce', unannounced.flatMap(unannouncedLines)),
    ...section(
      "Addresses that machines of the nodes' own network would not reach",
      unanswered.flatMap((because) => withFix('  ! ', because)),
    ),
    ...section('Routes that contain an address of a Node or router', diverted.map(divertedText)),
    ...section('Owners by ARP and NDP', owners.flatMap(ownerLines)),
    ...section('Drains', drains.map(drainText)),
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
    return [`  ${address} (${names}): ${before} -> not known before nodes report their links, which the first advertisement makes them do`];
  const lead = `  ${address} (${names}): ${isMove(move) ? `${before} -> ${after}` : 'none, as now'}`;
  return reason === undefined ? [lead] : withFix(`${lead}: `, reason);
}

function unannouncedLines({ service, address, reason }: UnannouncedAddress): string[] {
  return withFix(`  ! ${address} (${service}): `, reason);
}

/** A router compares the route with its own ones to the address, which are not known here. */
function divertedText({ prefix, address, kind, name, nodes }: DivertedAddress): string {
  const owner = kind === 'Node' ? `an InternalIP of node ${name}` : `the address of BGPPeer ${name}`;
  const own = prefix.startsWith(`${address}/`) ? `is ${owner}` : `contains ${address}, ${owner}`;
  return `  ! ${prefix} ${own}: routers that prefer this route send its packets to ${nodesText(nodes)}, and cut ${name} off`;
}

function drainText({ node, settleSeconds, withdrawn, kept }: DrainChange): string {
  const when =
    settleSeconds === 0 ? 'at once' : `${settleSeconds} s later (nodeDrain.settleSeconds), after they were the last resort of routers`;
  const stay = kept === 0 ? '' : `; ${kept} stay, because no other node is known to announce their addresses`;
  return `  ! ${node}: ${withdrawn} routes are withdrawn ${withdrawn === 0 ? '' : when}`.trimEnd() + stay;
}

function nodesText(nodes: readonly string[]): string {
  return nodes.length > namedNodes ? `${nodes.length} nodes` : nodes.join(', ');
}

function sessionText({ peer, change, fields, agreed }: SessionChange): string {
  const why = fields.length === 0 ? '' : ` (${fields.join(', ')})`;
  const until = agreed === undefined ? '' : `, comes up only if the router has the same setting (${agreed.join(', ')})`;
  return `${signs[change]} ${peer}: ${change === 'live' ? 'changes without a reset' : change}${why}${until}`;
}

function changeText({ change, what, afterSeconds }: NodeChange): string {
  return `${signs[change]} ${what}${afterSeconds === undefined ? '' : `, ${afterSeconds} s later`}`;
}

/** Counts the changes. */
export function planSummary({ addresses, owners, sessions, routes, rules, unannounced }: Plan): string[] {
  const resets = sessions.filter(({ change }) => change === 'reset');
  const withdrawn = routes.filter(({ change }) => change === 'remove');
  const lost = countLost(resets);
  const moved = countChangedAddresses(addresses);
  const total = `${countText(moved, 'address')}, ${countText(sessions.length, 'session')}, ${countText(routes.length, 'route')} and ${countText(rules.length, 'rule')} would change.`;
  const gone = withdrawn.length + lost;
  const ofThese =
    resets.length === 0 && gone === 0
      ? []
      : [
          `Of these, ${countText(resets.length, 'session')} would reset, and ${countText(gone, 'route')} would be withdrawn.`,
          ...lostSummary(resets),
        ];
  const later = withdrawn.filter(({ afterSeconds }) => afterSeconds !== undefined).length;
  return [
    total,
    ...ofThese,
    ...newSessionSummary(sessions, routes),
    ...(later === 0 ? [] : [`${later} of these routes are announced as the last resort of routers first.`]),
    ...(unannounced.length === 0 ? [] : [`${countText(unannounced.length, 'address')} would be announced by no node.`]),
    ...ownerSummary(owners),
  ];
}

/** A new session comes up only if the other side has it too. */
function newSessionSummary(sessions: readonly SessionChange[], routes: readonly NodeChange[]): string[] {
  const fresh = new Set(sessions.flatMap(({ node, peer, change }) => (change === 'start' ? [`${node} to ${peer}`] : [])));
  const added = routes.filter(({ node, change, what }) => change === 'add' && fresh.has(`${node}${what.slice(what.lastIndexOf(' to '))}`));
  return added.length === 0
    ? []
    : [`${added.length} of the added routes are for new sessions, which come up only if the router has them too.`];
}

function countLost(sessions: readonly SessionChange[]): number {
  return sessions.reduce((sum, { lost = 0 }) => sum + lost, 0);
}

/** A session that resets loses its routes first. */
function lostSummary(resets: readonly SessionChange[]): string[] {
  const needy = resets.filter(({ agreed }) => agreed !== undefined);
  const [waiting, returning] = [countLost(needy), countLost(resets.filter(({ agreed }) => agreed === undefined))];
  const fields = [...new Set(needy.flatMap(({ agreed = [] }) => agreed))].join(', ');
  return [
    ...(waiting === 0
      ? []
      : [`${waiting} routes are withdrawn by resets; they come back only if the router has the same change (${fields}).`]),
    ...(needy.some(({ graceful }) => graceful) ? ['With graceful restart a router may keep them until its restart time is over.'] : []),
    ...(returning === 0 ? [] : [`${returning} routes are withdrawn by resets, and sent again when the session is up.`]),
  ];
}

function ownerSummary(owners: readonly OwnerMove[]): string[] {
  const unknown = owners.filter((one) => one.unknown === true).length;
  const moved = owners.filter((one) => one.unknown !== true && isMove(one)).length;
  const none = owners.length - unknown - moved;
  return [
    ...(moved === 0 ? [] : [`${countText(moved, 'address')} would have another owner by ARP and NDP.`]),
    ...(none === 0 ? [] : [`${countText(none, 'address')} would have no owner by ARP and NDP, as now, for the reason above.`]),
    ...(unknown === 0
      ? []
      : [`The owner of ${countText(unknown, 'address')} by ARP and NDP would be known after nodes have reported their links.`]),
  ];
}

function list(addresses: readonly string[]): string {
  return addresses.length === 0 ? 'none' : addresses.join(', ');
}
