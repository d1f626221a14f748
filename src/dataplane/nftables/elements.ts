import { formatAddress, type Family } from '../../net/address.ts';
import { frontendFamily, type Backend, type Frontend, type FrontendMatch, type NodeForwarding } from '../../net/frontend.ts';
import { comparePrefixes, formatPrefix, isHostPrefix, prefix, prefixContains, withoutPrefix, type Prefix } from '../../net/prefix.ts';
import { backendIds, classOf, rejectClass, slotsFor, slotText, type Kind } from './classid.ts';
import { affinityLadder, type AffinitySeconds, type SetName } from './layout.ts';
import { maximumSlots } from './limits.ts';

/** One element of a set or map, in nft's words; equal elements have equal text. */
export interface Element {
  readonly family: Family;
  readonly set: SetName;
  /** "192.0.2.1 . tcp . 80" */
  readonly key: string;
  /** Of a map: "3:2", "10.0.0.1 . 8080". */
  readonly value?: string;
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
  const problem = problemOf(frontend);
  if (problem !== undefined) return { ok: false, problem };
  const { match } = frontend;
  const family = frontendFamily(match);
  const key = matchKey(match);
  const view = match.kind === 'address' ? addressSets : nodePortSets;
  const seconds = frontend.affinitySeconds === undefined ? undefined : affinityTimeout(frontend.affinitySeconds);
  const elements: Element[] = [];
  const add = (set: SetName, key: string, value?: string): void => {
    elements.push(value === undefined ? { family, set, key } : { family, set, key, value });
  };

  if (match.kind === 'address' && frontend.scope === 'internal') add('cluster_ips', formatAddress(match.address));
  if (frontend.sourceRanges !== undefined) {
    const ranges = disjointPrefixes(frontend.sourceRanges, family);
    if (!ranges.some((range) => range.length === 0)) {
      add(view.restricted, key);
      for (const range of ranges) add(view.allowedSources, `${key} . ${prefixText(range)}`);
    }
  }
  if (frontend.backends.length === 0) {
    add(view.frontends, key, rejectClass);
    return { ok: true, elements };
  }

  const protocol = match.protocol.toLowerCase();
  const usable = frontend.backends.slice(0, maximumSlots);
  const local = frontend.policy === 'Local' ? frontend.localBackends.slice(0, maximumSlots) : [];
  add(view.frontends, key, classOf(kindOf(frontend), seconds !== undefined, slotsFor(usable.length)));
  if (seconds !== undefined) add(`${view.sticky}${seconds}`, key);
  // One numbering for both views, so that a client keeps its backend when the policy changes.
  const ids = seconds === undefined ? undefined : backendIds([...usable, ...local].map(backendText));
  addBackends(add, { backends: view.backends, picks: view.picks }, key, usable, ids);
  if (local.length > 0) {
    add(view.frontendsLocal, key, slotText(slotsFor(local.length)));
    addBackends(add, { backends: view.backendsLocal, picks: view.picksLocal }, key, local, ids);
  }
  const hairpins = new Set<string>();
  for (const backend of [...usable, ...local]) {
    if (!backend.local) continue;
    const address = formatAddress(backend.address);
    hairpins.add(`${address} . ${address} . ${protocol} . ${backend.port}`);
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
    for (const prefix of disjointPrefixes(nodePorts, family)) add({ family, set: 'nodeport_ips', key: prefixText(prefix) });
    for (const prefix of disjointPrefixes(node.podPrefixes, family)) add({ family, set: 'pod_prefixes', key: prefixText(prefix) });
    for (const prefix of disjointPrefixes(unmasqueraded(node, family), family))
      add({ family, set: 'unmasqueraded', key: prefixText(prefix) });
    for (const prefix of disjointPrefixes(node.servicePrefixes, family)) add({ family, set: 'service_prefixes', key: prefixText(prefix) });
  }
  return [...elements.values()];
}

const everything = [prefix('0.0.0.0/0'), prefix('::/0')];

function unmasqueraded({ podPrefixes, podInterfaces = [], masqueradeAll = false }: NodeForwarding, family: Family): readonly Prefix[] {
  if (masqueradeAll) return [];
  const known = podInterfaces.length > 0 || podPrefixes.some(({ address }) => address.family === family);
  return known ? podPrefixes : everything;
}

/** The number of seconds a client is remembered: the first on the ladder that is not below what is asked. */
export function affinityTimeout(seconds: number): AffinitySeconds {
  return affinityLadder.find((step) => step >= seconds) ?? 86_400;
}

type Add = (set: SetName, key: string, value?: string) => void;
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
  key: string,
  backends: readonly Backend[],
  ids: ReadonlyMap<string, string> | undefined,
): void {
  const texts = [...new Set(backends.map(backendText))];
  const slots = slotsFor(backends.length);
  for (let slot = 0; slot < slots; slot++) {
    const text = texts[slot % texts.length] ?? '';
    if (ids === undefined) add(sets.backends, `${key} . ${slotText(slot)}`, text);
    else add(sets.picks, `${key} . ${slotText(slot)}`, ids.get(text) ?? '');
  }
  if (ids !== undefined) for (const text of texts) add(sets.backends, `${key} . ${ids.get(text) ?? ''}`, text);
}

function kindOf(frontend: Frontend): Kind {
  const local = frontend.policy === 'Local';
  if (frontend.scope === 'internal') return local ? 'internal_local' : 'internal';
  return local ? 'external_local' : 'external';
}

function matchKey(match: FrontendMatch): string {
  const port = `${match.protocol.toLowerCase()} . ${match.port}`;
  return match.kind === 'address' ? `${formatAddress(match.address)} . ${port}` : port;
}

function backendText(backend: Backend): string {
  return `${formatAddress(backend.address)} . ${backend.port}`;
}

/** The planner never produces these; a frontend that cannot be expressed is reported, not guessed at. */
function problemOf(frontend: Frontend): string | undefined {
  const { match } = frontend;
  const family = frontendFamily(match);
  if (!isPort(match.port)) return `port ${match.port} is outside 1..65535`;
  if (match.kind === 'nodePort' && frontend.scope === 'internal') return 'a NodePort is external';
  for (const backend of [...frontend.backends, ...frontend.localBackends]) {
    if (backend.address.family !== family) return `backend ${formatAddress(backend.address)} is of the other address family`;
    if (!isPort(backend.port)) return `backend port ${backend.port} is outside 1..65535`;
  }
  return undefined;
}

const isPort = (port: number): boolean => Number.isInteger(port) && port >= 1 && port <= 65_535;

/** nft lists a host prefix as an address. */
function prefixText(prefix: Prefix): string {
  return isHostPrefix(prefix) ? formatAddress(prefix.address) : formatPrefix(prefix);
}

/** Interval sets refuse overlaps: keeps the widest prefixes of the family. */
function disjointPrefixes(prefixes: readonly Prefix[], family: Family): Prefix[] {
  const result: Prefix[] = [];
  for (const prefix of prefixes.filter((each) => each.address.family === family).toSorted(comparePrefixes)) {
    const last = result.at(-1);
    if (last === undefined || last.length > prefix.length || !prefixContains(last, prefix.address)) result.push(prefix);
  }
  return result;
}
