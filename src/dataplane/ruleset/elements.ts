import { ok as assert } from 'node:assert';
import { type Element, elementIdentity, type ElementSink } from './element.ts';
import { formatAddress, type Family } from '../../net/address.ts';
import {
  countedTurns,
  frontendFamily,
  maximumTurns,
  mayReturnDirectly,
  slotTableSizes,
  type Backend,
  type Frontend,
  type FrontendMatch,
  type NodeForwarding,
} from '../../net/frontend.ts';
import { comparePrefixes, prefix, prefixContains, withoutPrefix, type Prefix } from '../../net/prefix.ts';
import {
  affinityId,
  backendId,
  classNumber,
  classOf,
  directClass,
  hashedClass,
  remainders,
  slotsFor,
  slotText,
  turnsClass,
  type Kind,
} from './classid.ts';
import { sharedTurnKey, sharedTurnOctets, sharedTurns, turnOctets, type turnSets, type TurnsView } from './turns.ts';
import { affinityLadder, type SetName, segmentLadder } from './layout.ts';
import { partElement } from './parts.ts';
import { maximumErrorReceivers, maximumSlots } from '../limits.ts';
import {
  addressOctets,
  classOctets,
  portOctets,
  protocolOctets,
  rangeOctets,
  slotOctets,
  type Octets,
  linkOctets,
  markOctets,
} from './octets.ts';
import { nodeMark, tunnelNextHop } from './direct-return-identity.ts';

/**
 * Returns the elements that make the constant rules treat packets as the frontend specifies. Pure: equal frontends give equal elements. The
 * frontend must have no problem (`frontendProblem`).
 */
export function frontendElements(frontend: Frontend): readonly Element[] {
  assert(frontendProblem(frontend) === undefined);
  const elements: Element[] = [];
  addFrontendElements(frontend, {
    push: (element) => void elements.push(element),
    pushSlots(family, set, key, values) {
      for (const [slot, value] of values.entries()) elements.push({ family, set, key: key + slotOctets(slot), value });
    },
  });
  return elements;
}

/** Passes the same elements to `to`. The frontend must have no problem. */
export function addFrontendElements(frontend: Frontend, to: ElementSink): void {
  const { match } = frontend;
  const family = frontendFamily(match);
  const key = matchKey(match);
  const of = <S extends keyof typeof nodePortSets>(set: S) => (match.kind === 'address' ? set : nodePortSets[set]);
  const add = (set: SetName, key: Octets, value?: Octets): void =>
    to.push(value === undefined ? { family, set, key } : { family, set, key, value });

  if (match.kind === 'address' && frontend.scope === 'internal') add('cluster_ips', addressOctets(match.address));
  if (match.kind === 'address' && frontend.echoFrom !== undefined)
    add('echo', addressOctets(match.address), addressOctets(frontend.echoFrom));
  if (match.kind === 'address' && frontend.refusesRest) {
    to.push(partElement(family, 'unserved'));
    add('own_addresses', addressOctets(match.address));
  }
  if (frontend.sourceRanges !== undefined) {
    const ranges = disjointPrefixes(frontend.sourceRanges, family);
    if (!ranges.some((range) => range.length === 0)) {
      to.push(partElement(family, of('source_ranges')));
      add(of('restricted'), key);
      for (const range of ranges) add(of('allowed_sources'), rangeOctets(range, key));
    }
  }
  if (frontend.backends.length === 0) {
    add(of('without_backends'), key, classOctets(remainders.refused));
    return;
  }

  const { affinity } = frontend;
  const usable = usableBackends(frontend, frontend.backends);
  const local = frontend.policy === 'Local' ? usableBackends(frontend, frontend.localBackends) : [];
  add(of('frontends'), key, classOctets(classOfFrontend(frontend, slotsFor(usable.length))));
  if (affinity !== undefined) {
    to.push(partElement(family, 'affinity'));
    add(of('affinity_ids'), key, classOctets(affinityId(affinityTimeout(affinity.seconds), affinity.servicePort)));
    addRemembered(add, of('backends'), key, usable);
    addRemembered(add, of('backends_local'), key, local);
  }
  addTurns(add, of('turns'), key, frontend);
  to.pushSlots(family, of('backends'), key, slotBackends(usable, frontend.slots?.backendOf ?? frontend.turns));
  for (const direct of directReturnElements(frontend, key)) add(direct.set, direct.key, direct.value);
  if (local.length > 0) {
    if (frontend.localTurns === undefined) add(of('frontends_local'), key, classOctets(localClass(frontend, slotsFor(local.length))));
    addTurns(add, of('turns_local'), key, frontend);
    to.pushSlots(family, of('backends_local'), key, slotBackends(local, frontend.localSlots?.backendOf ?? frontend.localTurns));
  } else if (frontend.policy === 'Local') {
    const remainder = frontend.scope === 'internal' ? remainders.dropped : remainders.droppedFromOutside;
    add(of('without_backends'), key, classOctets(remainder));
  }
  const hairpins = new Set<Octets>();
  for (const backends of [usable, local])
    for (const backend of backends) {
      if (!backend.local) continue;
      const address = addressOctets(backend.address);
      hairpins.add(address + address + protocolOctets(match.protocol) + portOctets(backend.port));
    }
  for (const hairpin of hairpins) add('hairpins', hairpin);
}

/** Returns the elements that refuse packets to these blocks, where no frontend takes them. */
export function blockElements(blocks: readonly Prefix[]): readonly Element[] {
  return ([4, 6] as const).flatMap((family) => {
    const own = disjointPrefixes(blocks, family).map((block): Element => ({ family, set: 'own_blocks', key: rangeOctets(block) }));
    return own.length === 0 ? [] : [partElement(family, 'unserved'), ...own];
  });
}

/** A pod cannot reply to a connection from 127.0.0.1. ::/8 contains ::1 and no address that a node uses (RFC 4291 2.4). */
const loopbacks = [prefix('127.0.0.0/8'), prefix('::/8')];

/** Returns the elements that do not belong to a frontend. */
export function nodeElements(node: NodeForwarding): readonly Element[] {
  const elements = new Map<string, Element>();
  const add = (element: Element): void => void elements.set(elementIdentity(element), element);
  const nodePorts = node.nodePortAddresses.flatMap((each) =>
    loopbacks.reduce((rest, hole) => rest.flatMap((one) => withoutPrefix(one, hole)), [each]),
  );
  for (const family of [4, 6] as const) {
    for (const prefix of disjointPrefixes(nodePorts, family)) add({ family, set: 'nodeport_ips', key: rangeOctets(prefix) });
    for (const prefix of disjointPrefixes(node.podPrefixes, family)) add({ family, set: 'pod_prefixes', key: rangeOctets(prefix) });
    for (const prefix of disjointPrefixes(unmasqueraded(node, family), family))
      add({ family, set: 'unmasqueraded', key: rangeOctets(prefix) });
    if (node.notesBegun === true) add(partElement(family, 'begun'));
    for (const prefix of disjointPrefixes(node.servicePrefixes, family)) add({ family, set: 'service_prefixes', key: rangeOctets(prefix) });
  }
  for (const element of directReturnNodeElements(node)) add(element);
  return [...elements.values()];
}

const everything = [prefix('0.0.0.0/0'), prefix('::/0')];

function unmasqueraded({ podPrefixes, podInterfaces = [], masqueradeAll = false }: NodeForwarding, family: Family): readonly Prefix[] {
  if (masqueradeAll) return [];
  const known = podInterfaces.length > 0 || podPrefixes.some(({ address }) => address.family === family);
  return known ? podPrefixes : everything;
}

/** Returns the index in `affinityLadder` of the first timeout that is not below these seconds. */
export function affinityTimeout(seconds: number): number {
  const index = affinityLadder.findIndex((step) => step >= seconds);
  return index < 0 ? affinityLadder.length - 1 : index;
}

type Add = (set: SetName, key: Octets, value?: Octets) => void;
type TurnSet = (typeof turnSets)[number];
type BackendSets = 'backends' | 'backends_local' | 'nodeport_backends' | 'nodeport_backends_local';

/** The sets, and the part of the table, that NodePorts have in place of those of addresses. */
const nodePortSets = {
  frontends: 'nodeports',
  frontends_local: 'nodeports_local',
  backends: 'nodeport_backends',
  backends_local: 'nodeport_backends_local',
  turns: 'nodeport_turns',
  turns_local: 'nodeport_turns_local',
  without_backends: 'nodeports_without_backends',
  affinity_ids: 'nodeport_affinity_ids',
  restricted: 'nodeport_restricted',
  allowed_sources: 'nodeport_allowed_sources',
  source_ranges: 'nodeport_source_ranges',
} as const;

/** Returns the backend of each slot, filled round-robin. */
function drawnBackends(backends: readonly Backend[]): readonly Octets[] {
  const distinct = [...new Set(backends.map(backendOctets))];
  const slots = slotsFor(backends.length);
  return slots === distinct.length ? distinct : Array.from({ length: slots }, (_, slot) => distinct[slot % distinct.length] ?? '');
}

/**
 * Adds the entries that lead a remembered client back to its backend. A backend whose id equals that of another backend or of a slot is
 * left out, and its clients are balanced again. 32-bit hashes rarely collide.
 */
function addRemembered(add: Add, set: BackendSets, key: Octets, backends: readonly Backend[]): void {
  const ids = new Map<string, Backend>();
  for (const backend of backends) {
    const id = backendId(backend);
    if (!ids.has(id) && classNumber(id) >= maximumSlots) ids.set(id, backend);
  }
  for (const [id, backend] of ids) add(set, key + classOctets(id), backendOctets(backend));
}

/** Leads to the chain that has the turns of a frontend, if it has turns. */
function addTurns(add: Add, set: TurnSet, key: Octets, { match, turns, localTurns, counting }: Frontend): void {
  const family = frontendFamily(match);
  const view: TurnsView = set === 'turns' || set === 'nodeport_turns' ? 'any' : 'local';
  const order = view === 'any' ? turns : localTurns;
  if (order === undefined) return;
  if (counting === undefined) {
    add(set, key, turnOctets(family, key, view, order.length));
    return;
  }
  const shared = sharedTurns(counting, view, order.length);
  add('shared_turns', sharedTurnKey(shared));
  add(set, key, sharedTurnOctets(family, shared));
}

/** Returns the backends that can have a slot. A table or an order of turns chooses among all. */
function usableBackends({ slots, turns }: Frontend, backends: readonly Backend[]): readonly Backend[] {
  return slots === undefined && turns === undefined ? backends.slice(0, maximumSlots) : backends;
}

/** Returns the backend of each slot. `backendOf`: by slot, as indexes. Undefined: the slots are drawn, and the backends have equal shares. */
function slotBackends(backends: readonly Backend[], backendOf: Uint16Array | undefined): readonly Octets[] {
  if (backendOf === undefined) return drawnBackends(backends);
  const octets = backends.map(backendOctets);
  return Array.from(backendOf, (backend) => octets[backend] ?? '');
}

function classOfFrontend(frontend: Frontend, drawn: number): string {
  const { slots, turns, affinity } = frontend;
  const kind = kindOf(frontend);
  if (turns !== undefined) return turnsClass(kind, affinity !== undefined);
  if (slots === undefined) return classOf(kind, affinity !== undefined, drawn);
  const { hashed, backendOf } = slots;
  if (frontend.directReturn === undefined || hashed === 'destination') return hashedClass(kind, hashed, backendOf.length);
  return directClass(hashed, backendOf.length);
}

function localClass(frontend: Frontend, drawn: number): string {
  const { localSlots } = frontend;
  return localSlots === undefined ? slotText(drawn) : hashedClass(kindOf(frontend), localSlots.hashed, localSlots.backendOf.length);
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

/** Returns why a frontend cannot be expressed. The planner never produces such a frontend; it is reported, not guessed at. */
export function frontendProblem(frontend: Frontend): string | undefined {
  const { match } = frontend;
  const family = frontendFamily(match);
  if (!isPort(match.port)) return `port ${match.port} is outside 1..65535`;
  if (match.kind === 'nodePort' && frontend.scope === 'internal') return 'a NodePort is external';
  const problem = choiceProblem(frontend);
  if (problem !== undefined) return problem;
  if (frontend.echoFrom !== undefined && frontend.echoFrom.family !== family)
    return 'the address that answers echo requests is of the other address family';
  return backendsProblem(frontend.backends, family) ?? backendsProblem(frontend.localBackends, family);
}

function backendsProblem(backends: readonly Backend[], family: Family): string | undefined {
  for (const { address, port } of backends) {
    if (address.family !== family) return `backend ${formatAddress(address)} is of the other address family`;
    if (!isPort(port)) return `backend port ${port} is outside 1..65535`;
  }
  return undefined;
}

/** Returns what is wrong with the tables or turns of a frontend. */
function choiceProblem(frontend: Frontend): string | undefined {
  const { slots, localSlots, turns, localTurns, affinity } = frontend;
  if ((slots ?? localSlots ?? turns ?? localTurns ?? frontend.directReturn) === undefined) return undefined;
  const { backends, localBackends, counting } = frontend;
  if (slots !== undefined && (turns ?? localTurns ?? affinity) !== undefined) return 'slots are without turns and session affinity';
  if (frontend.directReturn !== undefined && !mayReturnDirectly(frontend))
    return 'direct server return is for an external address under policy Cluster with a hash of the source';
  for (const table of [slots, localSlots])
    if (table !== undefined && !slotTableSizes.some((size) => size === table.backendOf.length))
      return `a slot table of ${table.backendOf.length} slots is not supported`;
  for (const order of [turns, localTurns])
    if (order !== undefined && (order.length === 0 || order.length > maximumTurns)) return `${order.length} turns are not supported`;
  if (
    counting !== undefined &&
    ![turns, localTurns].every((order) => order === undefined || countedTurns.some((count) => count === order.length))
  )
    return 'turns that follow connections have another number';
  const isWithin = (indexes: Uint16Array | undefined, of: readonly Backend[]): boolean =>
    indexes === undefined || indexes.every((backend) => backend < of.length);
  const isComplete =
    isWithin(slots?.backendOf ?? turns, backends) &&
    isWithin(localSlots?.backendOf ?? localTurns, localBackends) &&
    (localBackends.length === 0 || (slots === undefined) === (localSlots === undefined)) &&
    (localBackends.length === 0 || (turns === undefined) === (localTurns === undefined));
  return isComplete || backends.length === 0 ? undefined : 'a slot has no backend';
}

const isPort = (port: number): boolean => Number.isInteger(port) && port >= 1 && port <= 65_535;

/** Keeps the widest prefixes of the family, because interval sets refuse overlaps. */
function disjointPrefixes(prefixes: readonly Prefix[], family: Family): Prefix[] {
  const result: Prefix[] = [];
  for (const prefix of prefixes.filter((each) => each.address.family === family).toSorted(comparePrefixes)) {
    const last = result.at(-1);
    if (last === undefined || last.length > prefix.length || !prefixContains(last, prefix.address)) result.push(prefix);
  }
  return result;
}

/** Yields the elements that direct server return adds to those of every frontend with slots. `key`: the frontend's key. */
function* directReturnElements(
  { match, slots, backends, directReturn }: Frontend,
  key: Octets,
): Generator<Pick<Element, 'set' | 'key' | 'value'>> {
  if (directReturn === undefined || slots === undefined || match.kind !== 'address') return;
  const address = addressOctets(match.address);
  yield partElement(match.address.family, 'direct_return');
  yield { set: 'direct_addresses', key: address };
  const segment = segmentLadder.find((size) => size <= (directReturn.segmentSize ?? 0));
  if (segment !== undefined) yield { set: `segment_${segment}`, key: address };
  const marks = backends.map(({ node, path }) =>
    path?.routed === undefined || node === undefined ? undefined : markOctets(nodeMark(node)),
  );
  for (const [slot, index] of slots.backendOf.entries()) {
    const mark = marks[index];
    if (backends[index]?.local === true) yield { set: 'direct_local', key: key + slotOctets(slot) };
    else if (mark !== undefined) yield { set: 'passed_on', key: key + slotOctets(slot), value: mark };
  }
}

function* directReturnNodeElements({ directReturn }: NodeForwarding): Generator<Element> {
  for (const link of directReturn?.linkAddresses ?? [])
    for (const family of [4, 6] as const) yield { family, set: 'node_links', key: linkOctets(link) };
  for (const family of [4, 6] as const) {
    const targets = (directReturn?.targets ?? []).filter(({ node }) => node.family === family);
    const [behind, onLink] = [true, false].map((isTunneled) => targets.filter(({ routed }) => (routed === 'vxlan') === isTunneled));
    for (const [index, { node }] of (onLink ?? []).slice(0, maximumErrorReceivers).entries())
      yield { family, set: 'error_receivers', key: slotOctets(index + 1), value: addressOctets(node) };
    for (const [index, { node }] of (behind ?? []).slice(0, maximumErrorReceivers).entries())
      yield { family, set: 'error_tunnels', key: slotOctets(index + 1), value: addressOctets(tunnelNextHop(node)) };
  }
}
