import { formatAddress, type Address, type Family } from '../../net/address.ts';
import type { DirectReturnNode, PathTarget } from '../../net/direct-return.ts';
import { routeProtocol } from '../routes/unreachable-routes.ts';
import {
  markMask,
  nodeMark,
  preferences,
  tunnelIdentity,
  tunnelIndex,
  tunnelLinkAddress,
  tunnelName,
  tunnelNextHop,
  tunnelPort,
} from '../ruleset/direct-return-identity.ts';
import { maximumTargets } from './limits.ts';

/**
 * One object in the kernel that leads packets to another node. `text` describes it completely in the words of iproute2, so objects with the
 * same text are equal.
 *
 * A marked packet is routed by the table of its node: "rule", "route". Through a tunnel, the next hop has a link address ("neigh"), and
 * that address is reached at an address of the underlying network ("fdb", RFC 7348 section 4.1).
 */
export interface PathItem {
  readonly kind: 'tunnel' | 'fdb' | 'neigh' | 'route' | 'rule';
  readonly family: Family;
  readonly text: string;
}

/** The port to the kernel's path items. */
export interface PathTable {
  /** Lists the items that carry our marks. Rejects with DataplaneError. */
  list(): Promise<readonly PathItem[]>;
  /** Returns true if a device has the name of one of our tunnels. Rejects with DataplaneError. */
  hasTunnel(): Promise<boolean>;
  /** Changes items one by one; a failed item does not stop the others. Rejects (DataplaneError) with the first refusal. */
  change(add: readonly PathItem[], remove: readonly PathItem[]): Promise<void>;
}

export interface PathPlan {
  readonly items: readonly PathItem[];
  /** For each target, by the text of its address, the items that it needs. A target that is left out cannot be reached. */
  readonly byTarget: ReadonlyMap<string, readonly PathItem[]>;
}

/** Returns all items that a node needs to route packets to other nodes and to receive packets through tunnels. */
export function planPaths(node: DirectReturnNode): PathPlan {
  const items = new Map<string, PathItem>();
  const byTarget = new Map<string, readonly PathItem[]>();
  const tunnels = node.tunnels ? node.addresses.map(tunnelItem) : [];
  for (const tunnel of tunnels) for (const item of [tunnel, ...copyItems(tunnel)]) items.set(itemKey(item), item);
  const taken = new Set<string>();
  for (const target of node.targets) {
    const { family } = target.node;
    const number = `${family} ${nodeMark(target.node)}`;
    const tunnel = tunnels.find((item) => item.family === family);
    // When two nodes have the same number, the first in order gets it.
    if (target.routed === undefined || taken.size >= maximumTargets || taken.has(number)) continue;
    if (target.routed === 'vxlan' && tunnel === undefined) continue;
    taken.add(number);
    const needs = [...commonRules(family), ...(target.routed === 'vxlan' ? tunnelItems(target.node) : []), ...routeItems(target)];
    byTarget.set(formatAddress(target.node), target.routed === 'vxlan' && tunnel !== undefined ? [tunnel, ...needs] : needs);
    for (const item of needs) items.set(itemKey(item), item);
  }
  return { items: [...items.values()].toSorted(inOrder), byTarget };
}

/** Returns the items to add, and the present items that are not desired, each in the order of execution. */
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

/** Rules come last, so that no packet uses them before there is a route. */
function inOrder(a: PathItem, b: PathItem): number {
  return order.indexOf(a.kind) - order.indexOf(b.kind) || preferenceOf(b) - preferenceOf(a);
}

/**
 * Rules ("pref 32141 ...") are added from the last preference to the first, so that packets without a route are dropped before any mark
 * needs one.
 */
function preferenceOf({ kind, text }: PathItem): number {
  return kind === 'rule' ? Number(text.split(' ')[1]) : 0;
}

export function tunnelItem(own: Address): PathItem {
  return { kind: 'tunnel', family: own.family, text: tunnelText(own.family, tunnelLinkAddress(own), formatAddress(own)) };
}

export function tunnelText(family: Family, linkAddress: string, local: string): string {
  return `${tunnelName(family)} index ${tunnelIndex(family)} address ${linkAddress} type vxlan id ${tunnelIdentity} dstport ${tunnelPort} local ${local} nolearning`;
}

/** The kernel asks a route for the next hop of a copy, over IPv6 the one of link-local addresses that every interface has. */
function copyItems({ family }: PathItem): PathItem[] {
  if (family === 6) return [];
  const [device, number] = [tunnelName(family), tunnelIndex(family)];
  return [
    { kind: 'route', family, text: `default dev ${device} table ${number} protocol ${routeProtocol}` },
    { kind: 'rule', family, text: `pref ${preferences.copies} oif ${device} lookup ${number} protocol ${routeProtocol}` },
  ];
}

function tunnelItems(node: Address): PathItem[] {
  const { family } = node;
  const [device, linkAddress] = [tunnelName(family), tunnelLinkAddress(node)];
  return [
    { kind: 'fdb', family, text: `${linkAddress} dev ${device} dst ${formatAddress(node)}` },
    { kind: 'neigh', family, text: `${formatAddress(tunnelNextHop(node))} lladdr ${linkAddress} dev ${device} nud permanent` },
  ];
}

function routeItems({ node, routed }: PathTarget): PathItem[] {
  const { family } = node;
  const number = nodeMark(node);
  const onlink = family === 4 ? ' onlink' : '';
  const way =
    routed === 'vxlan' ? `via ${formatAddress(tunnelNextHop(node))} dev ${tunnelName(family)}${onlink}` : `via ${formatAddress(node)}`;
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
