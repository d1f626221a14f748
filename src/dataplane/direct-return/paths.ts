import { formatAddress, type Address, type Family } from '../../net/address.ts';
import type { DirectReturnNode, PathTarget } from '../../net/direct-return.ts';
import { routeProtocol } from '../routes/unreachable-routes.ts';
import {
  markMask,
  nodeMark,
  preferences,
  tunnelIdentity,
  tunnelLinkAddress,
  tunnelName,
  tunnelNextHop,
  tunnelPort,
} from '../ruleset/direct-return-identity.ts';
import { maximumTargets } from './limits.ts';

/**
 * One thing of the kernel's that takes packets to another node. `text` says all of it in the words of iproute2: things with the same
 * text are the same.
 *
 * A marked packet is routed by the table of its node: "rule", "route". Through a tunnel, the next hop has a link address
 * ("neigh"), and that is at an address of the underlying network ("fdb", RFC 7348 section 4.1).
 */
export interface PathItem {
  readonly kind: 'tunnel' | 'fdb' | 'neigh' | 'route' | 'rule';
  readonly family: Family;
  readonly text: string;
}

/** The port for what `PathItem`s stand for. */
export interface PathTable {
  /** Those that carry our marks. Rejects with DataplaneError. */
  list(): Promise<readonly PathItem[]>;
  /** One by one: what fails does not keep the rest from being done. Rejects (DataplaneError) with what was refused first. */
  change(add: readonly PathItem[], remove: readonly PathItem[]): Promise<void>;
}

export interface PathPlan {
  readonly items: readonly PathItem[];
  /** For each target, by text of its address, what it needs. A target that is left out cannot be reached. */
  readonly byTarget: ReadonlyMap<string, readonly PathItem[]>;
}

/** All that a node needs to pass packets on by routes, and to receive through tunnels. */
export function planPaths(node: DirectReturnNode): PathPlan {
  const items = new Map<string, PathItem>();
  const byTarget = new Map<string, readonly PathItem[]>();
  const tunnels = node.tunnels ? node.addresses.map(tunnelItem) : [];
  for (const tunnel of tunnels) items.set(itemKey(tunnel), tunnel);
  const taken = new Set<string>();
  for (const target of node.targets) {
    const { family } = target.node;
    const number = `${family} ${nodeMark(target.node)}`;
    const tunnel = tunnels.find((item) => item.family === family);
    // Two nodes with one number: the first in order has it.
    if (target.routed === undefined || taken.size >= maximumTargets || taken.has(number)) continue;
    if (target.routed === 'vxlan' && tunnel === undefined) continue;
    taken.add(number);
    const needs = [...commonRules(family), ...(target.routed === 'vxlan' ? tunnelItems(target.node) : []), ...routeItems(target)];
    byTarget.set(formatAddress(target.node), target.routed === 'vxlan' && tunnel !== undefined ? [tunnel, ...needs] : needs);
    for (const item of needs) items.set(itemKey(item), item);
  }
  return { items: [...items.values()].toSorted(inOrder), byTarget };
}

/** What to add, and what is there and not wanted; each in the order in which it is to be done. */
export function pathDifference(
  found: readonly PathItem[],
  wanted: readonly PathItem[],
): { readonly missing: readonly PathItem[]; readonly extra: readonly PathItem[] } {
  const have = new Set(found.map(itemKey));
  const want = new Set(wanted.map(itemKey));
  return {
    missing: wanted.filter((item) => !have.has(itemKey(item))).toSorted(inOrder),
    extra: found.filter((item) => !want.has(itemKey(item))).toSorted((a, b) => inOrder(b, a)),
  };
}

export function itemKey({ kind, family, text }: PathItem): string {
  return `${kind} ${family} ${text}`;
}

const order: readonly PathItem['kind'][] = ['tunnel', 'fdb', 'neigh', 'route', 'rule'];

/** Rules last, so that no packet takes them before there is a route. */
function inOrder(a: PathItem, b: PathItem): number {
  return order.indexOf(a.kind) - order.indexOf(b.kind) || preferenceOf(b) - preferenceOf(a);
}

/** "pref 32141 ...": from the last to the first, so that what has no route is caught before there is a mark that needs one. */
function preferenceOf({ kind, text }: PathItem): number {
  return kind === 'rule' ? Number(text.split(' ')[1]) : 0;
}

export function tunnelItem(own: Address): PathItem {
  return { kind: 'tunnel', family: own.family, text: tunnelText(own.family, tunnelLinkAddress(own), formatAddress(own)) };
}

export function tunnelText(family: Family, linkAddress: string, local: string): string {
  return `${tunnelName(family)} address ${linkAddress} type vxlan id ${tunnelIdentity} dstport ${tunnelPort} local ${local} nolearning`;
}

function tunnelItems(node: Address): PathItem[] {
  const { family } = node;
  const [device, linkAddress] = [tunnelName(family), tunnelLinkAddress(node)];
  return [
    { kind: 'fdb', family, text: `${linkAddress} dev ${device} dst ${formatAddress(node)}` },
    { kind: 'neigh', family, text: `${tunnelNextHop(node)} lladdr ${linkAddress} dev ${device} nud permanent` },
  ];
}

function routeItems({ node, routed }: PathTarget): PathItem[] {
  const { family } = node;
  const number = nodeMark(node);
  const onlink = family === 4 ? ' onlink' : '';
  const way = routed === 'vxlan' ? `via ${tunnelNextHop(node)} dev ${tunnelName(family)}${onlink}` : `via ${formatAddress(node)}`;
  const mark = `0x${number.toString(16)}`;
  return [
    { kind: 'route', family, text: `default ${way} table ${number} protocol ${routeProtocol}` },
    { kind: 'rule', family, text: `pref ${preferences.node} fwmark ${mark} lookup ${number} protocol ${routeProtocol}` },
  ];
}

function commonRules(family: Family): PathItem[] {
  const rule = (text: string): PathItem => ({ kind: 'rule', family, text: `${text} protocol ${routeProtocol}` });
  return [
    rule(`pref ${preferences.end} nop`),
    rule(`pref ${preferences.lost} fwmark ${markMask} blackhole`),
    rule(`pref ${preferences.own} iif lo goto ${preferences.end}`),
    rule(`pref ${preferences.skip} not fwmark ${markMask} goto ${preferences.end}`),
  ];
}
