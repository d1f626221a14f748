import type { Family } from '../../net/address.ts';
import { hashInputs, hashSeed, type HashInput } from '../../net/connection-hash.ts';
import { slotTableSizes } from '../../net/frontend.ts';
import { affinityKey, affinityPart, affinityType, rememberChain, rememberChains, timeoutVerdicts } from './affinity.ts';
import { begunChain, begunDeclaration, begunPart, begunSet, enteredDeclaration, enteredSet } from './begun.ts';
import {
  classOf,
  directClass,
  directHashes,
  hashedClass,
  kinds,
  remainders,
  slotCounts,
  slotText,
  turnsClass,
  type Kind,
} from './classid.ts';
import {
  affinityMap,
  allSets,
  chain,
  markerChain,
  noPodInterfaces,
  revisionSet,
  tableFamily,
  type Chain,
  type NamedChain,
  type PodInterfaces,
} from './layout.ts';
import { typeText } from './element-text.ts';
import { directReturnChains, directReturnHooks } from './direct-return-chains.ts';
import { chainsOfParts, partsByKey, type PartChains } from './parts.ts';
import { maximumAffinityClients } from '../limits.ts';
import type { ElementList } from './element-list.ts';
import { turnChains } from './turns.ts';
import type { Octets } from './octets.ts';

/** The constant part of one table: chains with their rules in order of creation, sets, and constant verdict maps. */
export interface Skeleton {
  readonly family: Family;
  /** Name to the text between the braces. */
  readonly sets: ReadonlyMap<string, string>;
  readonly maps: ReadonlyMap<string, string>;
  readonly verdicts: ReadonlyMap<string, ReadonlyMap<string, string>>;
  readonly chains: ReadonlyMap<string, Chain>;
  /** Chains that are there while an element of the set `parts` is, by its key. A chain without a hook is also in `chains`, without rules. */
  readonly parts: ReadonlyMap<Octets, PartChains>;
}

/**
 * Builds the constant part of a table. A packet passes (with the semantics of kube-proxy's nftables mode):
 *
 * - before connection tracking, while a frontend has direct server return: packets for a backend of another node are sent there unchanged
 *   (direct-return-chains.ts);
 * - before translation, while a frontend has them: source ranges;
 * - nat prerouting and output: the class of the frontend selects a chain by kind, which marks for masquerade, draws a slot, computes
 *   one or takes the next, and translates to the backend of that slot;
 * - nat prerouting and output, after every other program, while an address is Herald's: a packet to it that nothing has translated is
 *   refused. Such chains see the first packet of a connection only;
 * - filter: a packet that is still addressed to a frontend has no backend. It is refused, or dropped under policy Local.
 *   A translated packet is remembered if the frontend has session affinity, and its endpoint is noted while somebody looks at connections. A packet of an established connection meets one rule;
 * - nat postrouting: masquerade for the mark and for hairpins.
 *
 * `meta priority` is the scratch register: a lookup that misses ends its rule, and IPv4 forwarding overwrites it anyway.
 */
export function skeleton(family: Family, masqueradeBit: number, pods = noPodInterfaces): Skeleton {
  const ip = tableFamily(family);
  const mark = `0x${(2 ** masqueradeBit).toString(16)}`;
  const sets = new Map<string, string>();
  const maps = new Map<string, string>();
  for (const [name, shape] of allSets) {
    const flags = shape.interval ? ' flags interval ;' : '';
    if (shape.value === undefined) sets.set(name, `type ${typeText(family, shape.key)} ;${flags}`);
    else maps.set(name, `type ${typeText(family, shape.key)} : ${typeText(family, shape.value)} ;${flags}`);
  }
  sets.set(revisionSet, 'type mark ;');
  sets.set(begunSet, begunDeclaration(family));
  sets.set(enteredSet, enteredDeclaration);
  maps.set(affinityMap, `${affinityType(family)} ; size ${maximumAffinityClients} ; flags dynamic,timeout ; timeout 1d ;`);
  const address = addressView(ip);
  const requestMasquerade = `meta mark set meta mark or ${mark}`;
  const podMatches = [`${ip} saddr @pod_prefixes`, ...pods.names.map((name) => `iifname "${name}"`)];
  const unlessPod = masqueradeUnlessPod(ip, requestMasquerade, pods);
  const kindParts = { podMatches, requestMasquerade, unlessPod: unlessPod.rule };
  return {
    family,
    sets,
    maps,
    verdicts: new Map([
      ['kinds', kindVerdicts('', kinds)],
      ['nodeport_kinds', kindVerdicts('nodeport_', ['external', 'external_local'])],
      ['draws', drawVerdicts()],
      ['remainders', remainderVerdicts],
      ['timeouts', timeoutVerdicts],
    ]),
    chains: new Map([
      chain(markerChain(masqueradeBit, pods), []),
      ...unlessPod.chains,
      ...slotCounts.map((count) => chain(`draw_${count}`, [`meta priority set numgen random mod ${count}`])),
      ...hashedSlots.map(([hashed, slots]) => chain(`hash_${hashed}_${slots}`, [hashRule(ip, hashed, slots)])),
      ...[address, nodePortView].flatMap((view) => deliveryChains(ip, view)),
      ...kindChains(ip, address, kinds, kindParts),
      ...kindChains(ip, nodePortView, ['external', 'external_local'], kindParts),
      ...directReturnChains(ip, address.key, podMatches, requestMasquerade),
      ...rememberChains(ip),
      chain(rememberChain, []),
      chain(begunChain, []),
      ...hookChains(ip, podMatches, mark),
    ]),
    parts: partsByKey({
      direct_return: directReturnHooks(ip),
      source_ranges: sourceRangeHooks('source_ranges', `${address.key} @restricted ${address.key} . ${ip} saddr != @allowed_sources drop`),
      nodeport_source_ranges: sourceRangeHooks(
        'nodeport_source_ranges',
        `${nodePortView.key} @nodeport_restricted ${ip} daddr @nodeport_ips fib daddr type local ${nodePortView.key} . ${ip} saddr != @nodeport_allowed_sources drop`,
      ),
      affinity: affinityPart(ip),
      begun: begunPart(ip),
      unserved: unservedHooks(ip),
    }),
  };
}

/** Returns the chains of a table that has these elements. Undefined: an element names an unknown part or chain. */
export function expectedChains(skeleton: Skeleton, present: ElementList): ReadonlyMap<string, Chain> | undefined {
  const ofElements = chainsOfElements(skeleton, present);
  return ofElements === undefined ? undefined : new Map([...skeleton.chains, ...ofElements]);
}

/** Returns the chains that elements of the list bring into the table. Undefined: an element names an unknown part or chain. */
export function chainsOfElements({ family, parts }: Pick<Skeleton, 'family' | 'parts'>, elements: ElementList): PartChains | undefined {
  const ofParts = chainsOfParts(parts, elements.packed(family, 'parts'));
  const ofTurns = turnChains(elements, family);
  return ofParts === undefined || ofTurns === undefined ? undefined : new Map([...ofParts, ...ofTurns]);
}

/** Declares a map of verdicts. With a size, the kernel takes its quickest kind of set. */
export const verdictMap = (elements: ReadonlyMap<string, string>): string => `type classid : verdict ; size ${elements.size} ;`;

/** The destination of a packet: a Service address, or a NodePort on any address of the node. */
interface View {
  /** Prefix of chain and map names. */
  readonly prefix: '' | 'nodeport_';
  readonly frontends: 'frontends' | 'nodeports';
  readonly key: string;
}

const addressView = (ip: 'ip' | 'ip6'): View => ({ prefix: '', frontends: 'frontends', key: `${ip} daddr . meta l4proto . th dport` });
const nodePortView: View = { prefix: 'nodeport_', frontends: 'nodeports', key: 'meta l4proto . th dport' };

const hashedSlots = hashInputs.flatMap((hashed) => slotTableSizes.map((slots) => [hashed, slots] as const));

const views = { all: ['', '_local'], turns: ['', '_turns'], sticky: ['', '_sticky'] } as const;
/** Which backends a chain delivers to, and whether they take turns, as parts of its name. */
type LocalView = (typeof views.all)[number];
type TurnsView = (typeof views.turns)[number];

/** The rule that computes the same hash as src/net/connection-hash.ts. */
function hashRule(ip: 'ip' | 'ip6', hashed: HashInput, slots: number): string {
  const input = { connection: `${ip} saddr . th sport`, client: `${ip} saddr`, destination: `${ip} daddr` }[hashed];
  return `meta priority set jhash ${input} mod ${slots} seed 0x${hashSeed.toString(16)}`;
}

/**
 * Builds the chains from the class to the backend: any or local, with and without session affinity. A packet that finds no backend returns.
 *
 * Each lookup of a packet sees a transaction completely or not at all, but a later lookup may see the next transaction: a slot drawn among
 * three is missing when there are only two. Conntrack would apply the result for this packet to all that follow, so the slot is drawn once
 * more, with the current class.
 */
function deliveryChains(ip: 'ip' | 'ip6', view: View): NamedChain[] {
  const { prefix, key } = view;
  const remembered = affinityKey(ip);
  const identify = `meta priority set ${key} map @${prefix}affinity_ids`;
  return views.all.flatMap((local) => {
    const deliver = `${prefix}deliver${local}`;
    const balances = views.turns.flatMap((turns) => {
      const draw = drawRule(view, local, turns);
      const sticky = [
        identify,
        `meta priority set ${remembered} map @${affinityMap} jump ${deliver}`,
        // Back here, the client is new or its backend is gone. "update" would keep the remembered backend, so the entry is deleted first.
        identify,
        `delete @${affinityMap} { ${remembered} : meta priority }`,
        draw,
        `jump ${deliver}`,
        draw,
        `goto ${deliver}`,
      ];
      const name = `${prefix}balance${local}${turns}`;
      return [chain(name, balanceRules(ip, view, local, turns)), chain(`${name}_sticky`, sticky)];
    });
    return [chain(deliver, [deliveryRule(ip, view, local)]), ...balances];
  });
}

function deliveryRule(ip: 'ip' | 'ip6', { prefix, key }: View, local: LocalView): string {
  return `meta l4proto { tcp, udp, sctp } dnat ${ip} addr . port to ${key} . meta priority map @${prefix}backends${local}`;
}

function drawRule({ prefix, key, frontends }: View, local: LocalView, turns: TurnsView): string {
  if (turns !== '') return `${key} vmap @${prefix}turns${local}`;
  return `meta priority set ${key} map @${frontends}${local} meta priority vmap @draws`;
}

/** Finds a slot and translates to its backend. The class is already in the register, except for the local view. */
function balanceRules(ip: 'ip' | 'ip6', view: View, local: LocalView, turns: TurnsView): string[] {
  const draw = drawRule(view, local, turns);
  const deliver = deliveryRule(ip, view, local);
  return [local === '' && turns === '' ? 'meta priority vmap @draws' : draw, deliver, draw, deliver];
}

/** Returns the rule that requests masquerade unless a pod sent the packet. Only where pods have interfaces it needs a chain. */
function masqueradeUnlessPod(
  ip: 'ip' | 'ip6',
  requestMasquerade: string,
  pods: PodInterfaces,
): { readonly rule: string; readonly chains: NamedChain[] } {
  const interfaces = pods.masqueraded ? [] : pods.names;
  if (interfaces.length === 0) return { rule: `${ip} saddr != @unmasqueraded ${requestMasquerade}`, chains: [] };
  const name = 'masquerade_unless_pod';
  const returns = interfaces.map((each) => `iifname "${each}" return`);
  return {
    rule: `jump ${name}`,
    chains: [chain(name, [`${ip} saddr @unmasqueraded return`, ...returns, requestMasquerade])],
  };
}

/** Parts of a kind's rules besides its own: matches for packets of pods, and rules that request masquerade. */
interface KindParts {
  readonly podMatches: readonly string[];
  readonly requestMasquerade: string;
  readonly unlessPod: string;
}

function kindChains(ip: 'ip' | 'ip6', view: View, of: readonly Kind[], parts: KindParts): NamedChain[] {
  return of.flatMap((kind) =>
    views.turns.flatMap((turns) =>
      views.sticky.map((sticky) => {
        const rules = kindRules(kind, parts, {
          // One jump less for most packets.
          anyRules: sticky === '' ? balanceRules(ip, view, '', turns) : [`goto ${view.prefix}balance${turns}_sticky`],
          any: `${view.prefix}balance${turns}${sticky}`,
          local: `${view.prefix}balance_local${turns}${sticky}`,
        });
        return chain(`${view.prefix}${kind}${turns}${sticky}`, rules);
      }),
    ),
  );
}

function kindRules(
  kind: Kind,
  { podMatches, requestMasquerade, unlessPod }: KindParts,
  { anyRules, any, local }: { readonly anyRules: readonly string[]; readonly any: string; readonly local: string },
): string[] {
  switch (kind) {
    case 'internal':
      return [unlessPod, ...anyRules];
    case 'internal_local':
      return [unlessPod, `goto ${local}`];
    case 'external':
      return [requestMasquerade, ...anyRules];
    case 'external_local':
      // Pods and the node itself get what an external load balancer with all nodes as targets would give them.
      return [
        ...podMatches.map((match) => `${match} goto ${any}`),
        `fib saddr type local ${requestMasquerade} goto ${any}`,
        `goto ${local}`,
      ];
  }
}

function sourceRangeHooks(name: string, rule: string): PartChains {
  return new Map(
    ['prerouting', 'output'].map((hook) =>
      chain(`${name}_${hook}`, [`ct state new ${rule}`], `type filter hook ${hook} priority ${priorities.before}`),
    ),
  );
}

/**
 * Refuses what the default route would lead back to the router. Frontends without backends are for the filter chains, and addresses of the
 * node for its own programs.
 */
function unservedHooks(ip: 'ip' | 'ip6'): PartChains {
  const rules = ownAddresses(ip).map((match) => `${match} goto refuse_rest`);
  return new Map(
    ['prerouting', 'output'].map((hook) => chain(`unserved_${hook}`, rules, `type nat hook ${hook} priority ${priorities.unserved}`)),
  );
}

const ownAddresses = (ip: 'ip' | 'ip6'): string[] => ['own_addresses', 'own_blocks'].map((set) => `${ip} daddr @${set}`);

function hookChains(ip: 'ip' | 'ip6', podMatches: readonly string[], mark: string): NamedChain[] {
  const { key } = addressView(ip);
  const nodePortKey = nodePortView.key;
  const services = [
    `meta priority set ${key} map @frontends meta priority vmap @kinds`,
    `${ip} daddr @nodeport_ips fib daddr type local meta priority set ${nodePortKey} map @nodeports meta priority vmap @nodeport_kinds`,
    // Delivered to the node itself, which need not own the address.
    `${ip === 'ip' ? 'icmp' : 'icmpv6'} type echo-request dnat to ${ip} daddr map @echo`,
  ];
  // The first packet of a connection. A translated one has a backend, which may itself be a frontend: the address of a host network pod is
  // an address of the node. If the backend is the very same frontend, conntrack reports no translation.
  const translated = 'ct status dnat goto translated';
  const undelivered = `meta priority set ${key} map @without_backends meta priority vmap @remainders`;
  const masquerades = [
    `meta mark and ${mark} != 0 meta mark set meta mark xor ${mark} masquerade fully-random`,
    `ct status dnat ${ip} saddr . ${ip} daddr . meta l4proto . th dport @hairpins masquerade fully-random`,
  ];
  const leaving = [undelivered, `${ip} daddr @cluster_ips goto refuse`, `${ip} daddr @service_prefixes drop`];
  // Flows that are older than the address. Their first packet has passed translation already.
  const forwarded = ownAddresses(ip).map((match) => `${match} goto refuse`);
  return [
    // The kernel limits the rate of ICMP errors. A TCP reset refuses twenty connections in a row without delay.
    chain('refuse', ['meta l4proto tcp reject with tcp reset', 'reject']),
    // Pods and the node itself may use all backends, also when the backend that they got is the frontend itself.
    chain('nothing_local', [...podMatches.map((match) => `${match} return`), 'fib saddr type local return', 'drop']),
    chain('translated', [`jump ${begunChain}`, `goto ${rememberChain}`]),
    chain('new_arriving', [
      translated,
      `${ip} daddr @nodeport_ips meta priority set ${nodePortKey} map @nodeports_without_backends meta priority vmap @remainders`,
      undelivered,
      `goto ${rememberChain}`,
    ]),
    chain('refuse_rest', [`meta priority set ${key} map @without_backends return`, 'fib daddr type local return', 'goto refuse']),
    chain('new_leaving', [translated, ...leaving, `goto ${rememberChain}`]),
    chain('new_or_stray', [translated, 'ct state invalid goto stray', ...leaving, ...forwarded, `goto ${rememberChain}`]),
    // Conntrack does not translate back packets that it cannot match to a connection. The client would then see the backend's own address
    // and reset a good connection (kubernetes/kubernetes#74839). Only packets from our backends are dropped.
    // Those to an address of ours are part of no connection, so they are not answered.
    chain('stray', [
      `${ip} saddr . ${ip} saddr . meta l4proto . th sport @hairpins drop`,
      ...ownAddresses(ip).map((match) => `${match} drop`),
    ]),
    chain('nat_prerouting', services, `type nat hook prerouting priority ${priorities.destination}`),
    chain('nat_output', services, `type nat hook output priority ${priorities.destination}`),
    chain('filter_input', ['ct state new goto new_arriving'], `type filter hook input priority ${priorities.filter}`),
    chain('filter_forward', ['ct state new,invalid goto new_or_stray'], `type filter hook forward priority ${priorities.filter}`),
    chain('filter_output', ['ct state new goto new_leaving'], `type filter hook output priority ${priorities.filter}`),
    chain('nat_postrouting', masquerades, `type nat hook postrouting priority ${priorities.source}`),
  ];
}

/**
 * Each of our chains runs shortly before that of kube-proxy (-110, -100, 0 and 100, in every mode). The kernel runs nat chains in order
 * until one has translated, so where both programs have a frontend, ours takes effect, whichever was created first. Packets that nobody
 * serves are refused after firewalld's chain (-90), the last known one that translates.
 */
const priorities = { before: -115, destination: -105, unserved: -80, filter: -5, source: 95 } as const;

/** Of several programs that translate the destination of a packet, the one whose chain has the lowest priority does. */
export const destinationPriority = priorities.destination;

function kindVerdicts(prefix: View['prefix'], of: readonly Kind[]): ReadonlyMap<string, string> {
  const verdicts = new Map<string, string>();
  for (const kind of of) {
    const to = `goto ${prefix}${kind}`;
    for (const sticky of [false, true]) {
      const suffix = sticky ? '_sticky' : '';
      for (const slots of slotCounts) verdicts.set(classOf(kind, sticky, slots), `${to}${suffix}`);
      verdicts.set(turnsClass(kind, sticky), `${to}_turns${suffix}`);
    }
    for (const [hashed, slots] of hashedSlots) verdicts.set(hashedClass(kind, hashed, slots), to);
  }
  if (prefix === '')
    for (const hashed of directHashes) for (const slots of slotTableSizes) verdicts.set(directClass(hashed, slots), 'goto external_direct');
  return verdicts;
}

/** Maps a class of any kind, or the class of a local map, to the chain that draws or computes one of its slots and returns. */
function drawVerdicts(): ReadonlyMap<string, string> {
  const verdicts = new Map<string, string>();
  for (const slots of slotCounts) {
    verdicts.set(slotText(slots), `jump draw_${slots}`);
    for (const kind of kinds) {
      for (const sticky of [false, true]) verdicts.set(classOf(kind, sticky, slots), `jump draw_${slots}`);
    }
  }
  for (const [hashed, slots] of hashedSlots)
    for (const kind of kinds) verdicts.set(hashedClass(kind, hashed, slots), `jump hash_${hashed}_${slots}`);
  for (const hashed of directHashes)
    for (const slots of slotTableSizes) verdicts.set(directClass(hashed, slots), `jump hash_${hashed}_${slots}`);
  return verdicts;
}

/** Maps a remainder to what becomes of the packet. */
const remainderVerdicts: ReadonlyMap<string, string> = new Map([
  [remainders.refused, 'goto refuse'],
  [remainders.dropped, 'drop'],
  [remainders.droppedFromOutside, 'jump nothing_local'],
]);
