import { formatAddress, type Family } from '../../net/address.ts';
import {
  frontendFamily,
  slotTableSizes,
  type Backend,
  type Frontend,
  type FrontendMatch,
  type NodeForwarding,
  type SlotTable,
} from '../../net/frontend.ts';
import { comparePrefixes, prefix, prefixContains, withoutPrefix, type Prefix } from '../../net/prefix.ts';
import { directReturnElements, directReturnNodeElements } from '../direct-return/elements.ts';
import { backendIds, classOf, hashedClass, rejectClass, slotsFor, slotText, type Kind } from './classid.ts';
import { affinityLadder, type AffinitySeconds, type SetName } from './layout.ts';
import { maximumSlots } from './limits.ts';
import { addressOctets, classOctets, portOctets, protocolOctets, rangeOctets, type Octets } from './octets.ts';

/** One element of a set or map, as the kernel has it; element-text.ts has the words of nft for it. */
export interface Element {
  readonly family: Family;
  readonly set: SetName;
  /** "192.0.2.1 . tcp . 80"; in a set of ranges the first and the last key. */
  readonly key: Octets;
  /** Of a map: "3:2", "10.0.0.1 . 8080". */
  readonly value?: Octets;
}

/** Identifies an element among all: two with the same identity cannot both be in the kernel. */
export function elementIdentity(element: Element): string {
  return `${element.family} ${element.set} ${element.key}`;
}

export type FrontendElements =
  | { readonly ok: true; readonly elements: readonly Element[] }
  /** What this backend cannot express. */
  | { readonly ok: false; readonly problem: string };

/** The elements that make the constant rules treat packets as the frontend says. Pure: equal frontends, equal elements. */
export function frontendElements(frontend: Frontend): FrontendElements {
  const problem = frontendProblem(frontend);
  if (problem !== undefined) return { ok: false, problem };
  const { match } = frontend;
  const family = frontendFamily(match);
  const key = matchKey(match);
  const view = match.kind === 'address' ? addressSets : nodePortSets;
  const seconds = frontend.affinitySeconds === undefined ? undefined : affinityTimeout(frontend.affinitySeconds);
  const elements: Element[] = [];
  const add = (set: SetName, key: Octets, value?: Octets): void => {
    elements.push(value === undefined ? { family, set, key } : { family, set, key, value });
  };

  if (match.kind === 'address' && frontend.scope === 'internal') add('cluster_ips', addressOctets(match.address));
  if (frontend.sourceRanges !== undefined) {
    const ranges = disjointPrefixes(frontend.sourceRanges, family);
    if (!ranges.some((range) => range.length === 0)) {
      add(view.restricted, key);
      for (const range of ranges) add(view.allowedSources, rangeOctets(range, key));
    }
  }
  if (frontend.backends.length === 0) {
    add(view.frontends, key, classOctets(rejectClass));
    return { ok: true, elements };
  }

  const { slots } = frontend;
  const usable = slots === undefined ? frontend.backends.slice(0, maximumSlots) : frontend.backends;
  const local = frontend.policy === 'Local' ? frontend.localBackends.slice(0, maximumSlots) : [];
  add(view.frontends, key, classOctets(classOfFrontend(frontend, slotsFor(usable.length))));
  if (seconds !== undefined) add(`${view.sticky}${seconds}`, key);
  // One numbering for both views, so that a client keeps its backend when the policy changes.
  const ids = seconds === undefined ? undefined : idsOf([...usable, ...local]);
  if (slots === undefined) addBackends(add, { backends: view.backends, picks: view.picks }, key, usable, ids);
  else {
    addSlots(add, view.backends, key, usable, slots);
    for (const direct of directReturnElements(frontend, key, slotOctets)) add(direct.set, direct.key, direct.value);
  }
  if (local.length > 0) {
    add(view.frontendsLocal, key, classOctets(slotText(slotsFor(local.length))));
    addBackends(add, { backends: view.backendsLocal, picks: view.picksLocal }, key, local, ids);
  }
  const hairpins = new Set<Octets>();
  for (const backend of [...usable, ...local]) {
    if (!backend.local) continue;
    const address = addressOctets(backend.address);
    hairpins.add(address + address + protocolOctets(match.protocol) + portOctets(backend.port));
  }
  for (const hairpin of hairpins) add('hairpins', hairpin);
  return { ok: true, elements };
}

/** A connection from 127.0.0.1 cannot be answered by a pod. ::/8 has ::1 and nothing that a node uses (RFC 4291 2.4). */
const loopbacks = [prefix('127.0.0.0/8'), prefix('::/8')];

/** The elements that do not belong to a frontend. */
export function nodeElements(node: NodeForwarding): readonly Element[] {
  const elements = new Map<string, Element>();
  const add = (element: Element): void => void elements.set(elementIdentity(element), element);
  const nodePorts = node.nodePortAddresses.flatMap((each) =>
    loopbacks.reduce((rest, hole) => rest.flatMap((one) => withoutPrefix(one, hole)), [each]),
  );
  for (const family of [4, 6] as const) {
    for (const prefix of disjointPrefixes(nodePorts, family)) add({ family, set: 'nodeport_ips', key: rangeOctets(prefix) });
    for (const prefix of disjointPrefixes(node.podPrefixes, family)) add({ family, set: 'pod_prefixes', key: rangeOctets(prefix) });
    for (const prefix of disjointPrefixes(node.servicePrefixes, family)) add({ family, set: 'service_prefixes', key: rangeOctets(prefix) });
  }
  for (const element of directReturnNodeElements(node)) add(element);
  return [...elements.values()];
}

/** The number of seconds a client is remembered: the first on the ladder that is not below what is asked. */
export function affinityTimeout(seconds: number): AffinitySeconds {
  return affinityLadder.find((step) => step >= seconds) ?? 86_400;
}

type Add = (set: SetName, key: Octets, value?: Octets) => void;
type BackendSets = 'backends' | 'backends_local' | 'nodeport_backends' | 'nodeport_backends_local';
type PickSets = 'picks' | 'picks_local' | 'nodeport_picks' | 'nodeport_picks_local';

const addressSets = {
  frontends: 'frontends',
  frontendsLocal: 'frontends_local',
  backends: 'backends',
  backendsLocal: 'backends_local',
  picks: 'picks',
  picksLocal: 'picks_local',
  sticky: 'sticky_',
  restricted: 'restricted',
  allowedSources: 'allowed_sources',
} as const;

const nodePortSets = {
  frontends: 'nodeports',
  frontendsLocal: 'nodeports_local',
  backends: 'nodeport_backends',
  backendsLocal: 'nodeport_backends_local',
  picks: 'nodeport_picks',
  picksLocal: 'nodeport_picks_local',
  sticky: 'nodeport_sticky_',
  restricted: 'nodeport_restricted',
  allowedSources: 'nodeport_allowed_sources',
} as const;

/** Slots filled round-robin; with ids, slots lead to ids and ids to backends. */
function addBackends(
  add: Add,
  sets: { readonly backends: BackendSets; readonly picks: PickSets },
  key: Octets,
  backends: readonly Backend[],
  ids: ReadonlyMap<Octets, Octets> | undefined,
): void {
  const distinct = [...new Set(backends.map(backendOctets))];
  const slots = slotsFor(backends.length);
  for (let slot = 0; slot < slots; slot++) {
    const backend = distinct[slot % distinct.length] ?? '';
    if (ids === undefined) add(sets.backends, key + slotOctets(slot), backend);
    else add(sets.picks, key + slotOctets(slot), ids.get(backend) ?? '');
  }
  if (ids !== undefined) for (const backend of distinct) add(sets.backends, key + (ids.get(backend) ?? ''), backend);
}

function addSlots(add: Add, set: BackendSets, key: Octets, backends: readonly Backend[], { backendOf }: SlotTable): void {
  const octets = backends.map(backendOctets);
  for (const [slot, backend] of backendOf.entries()) add(set, key + slotOctets(slot), octets[backend] ?? '');
}

/** Backend to id. */
function idsOf(backends: readonly Backend[]): ReadonlyMap<Octets, Octets> {
  const ids = backendIds(backends.map(backendText));
  return new Map(backends.map((backend) => [backendOctets(backend), classOctets(ids.get(backendText(backend)) ?? '')]));
}

const slots: Octets[] = [];
const slotOctets = (slot: number): Octets => (slots[slot] ??= classOctets(slotText(slot)));

function classOfFrontend(frontend: Frontend, drawn: number): string {
  const { slots, affinitySeconds } = frontend;
  if (slots !== undefined) return hashedClass(slots.hashed, slots.backendOf.length, frontend.directReturn !== undefined);
  return classOf(kindOf(frontend), affinitySeconds !== undefined, drawn);
}

function kindOf(frontend: Frontend): Kind {
  const local = frontend.policy === 'Local';
  if (frontend.scope === 'internal') return local ? 'internal_local' : 'internal';
  return local ? 'external_local' : 'external';
}

function matchKey(match: FrontendMatch): Octets {
  const port = protocolOctets(match.protocol) + portOctets(match.port);
  return match.kind === 'address' ? addressOctets(match.address) + port : port;
}

function backendOctets(backend: Backend): Octets {
  return addressOctets(backend.address) + portOctets(backend.port);
}

/** What the id of a backend is made from. */
function backendText(backend: Backend): string {
  return `${formatAddress(backend.address)} . ${backend.port}`;
}

/** The planner never produces these; a frontend that cannot be expressed is reported, not guessed at. */
export function frontendProblem(frontend: Frontend): string | undefined {
  const { match } = frontend;
  const family = frontendFamily(match);
  if (!isPort(match.port)) return `port ${match.port} is outside 1..65535`;
  if (match.kind === 'nodePort' && frontend.scope === 'internal') return 'a NodePort is external';
  const problem = frontend.slots === undefined ? undefined : slotsProblem(frontend, frontend.slots);
  if (problem !== undefined) return problem;
  for (const backend of [...frontend.backends, ...frontend.localBackends]) {
    if (backend.address.family !== family) return `backend ${formatAddress(backend.address)} is of the other address family`;
    if (!isPort(backend.port)) return `backend port ${backend.port} is outside 1..65535`;
  }
  return undefined;
}

function slotsProblem({ match, scope, policy, backends, affinitySeconds }: Frontend, { backendOf }: SlotTable): string | undefined {
  if (match.kind === 'nodePort' || scope === 'internal' || policy === 'Local' || affinitySeconds !== undefined)
    return 'slots are for an external address under policy Cluster without session affinity';
  if (!slotTableSizes.some((size) => size === backendOf.length)) return `there is no table of ${backendOf.length} slots`;
  return backendOf.every((backend) => backend < backends.length) ? undefined : 'a slot has no backend';
}

const isPort = (port: number): boolean => Number.isInteger(port) && port >= 1 && port <= 65_535;

/** Interval sets refuse overlaps: keeps the widest prefixes of the family. */
function disjointPrefixes(prefixes: readonly Prefix[], family: Family): Prefix[] {
  const result: Prefix[] = [];
  for (const prefix of prefixes.filter((each) => each.address.family === family).toSorted(comparePrefixes)) {
    const last = result.at(-1);
    if (last === undefined || last.length > prefix.length || !prefixContains(last, prefix.address)) result.push(prefix);
  }
  return result;
}
