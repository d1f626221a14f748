import type { Address, Family } from '../../net/address.ts';
import { dockerBridge, type FilterCondition, type FilterRule, type HostFilter, type RateCondition } from '../../net/host-filter.ts';
import { matchesInterface } from '../../net/interface-pattern.ts';
import { prefixContains } from '../../net/prefix.ts';
import { familiesOf } from './filters.ts';

/** The first packet of a connection from a client outside of the cluster, or of the answer to it, as a chain sees it. */
export interface ClientPacket {
  readonly family: Family;
  /** "tcp". Absent: not known, like the fields below. */
  readonly protocol?: string;
  readonly destination?: Address;
  readonly port?: number;
  readonly source?: Address;
  readonly sourcePort?: number;
  /** The interface by which it comes. */
  readonly interface?: string;
  /** The interfaces whose own chains see it: that by which it comes or leaves, and those below. */
  readonly devices?: readonly string[];
  /** Clients come by no other interface, so the answers to them leave by it. */
  readonly isOnlyWay?: boolean;
  /** Herald has translated its destination. */
  readonly isTranslated: boolean;
  /** Connection tracking has not seen it yet. */
  readonly isUntracked: boolean;
}

/** A rule that decides about a packet. Absent `rule`: the policy of the chain does. */
export interface Decider {
  /** The chain of the rule. */
  readonly chain: string;
  readonly rule?: FilterRule;
}

/** A rule that lets only a share of the packets through. `amount` as in RateCondition: `isLost`, or all that pass. */
export interface Limit {
  readonly by: Decider;
  readonly amount: string;
  readonly isLost: boolean;
}

/**
 * accepted, dropped, rejected: certainly; with a limit a share of the packets. undecided: a rule whose condition cannot be judged may accept what the chain drops otherwise, or
 * may drop packets to this very destination. `looksAt`: what that condition reads.
 */
export type Fate =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'dropped' | 'rejected'; readonly by: Decider; readonly limit?: Limit }
  | { readonly kind: 'undecided'; readonly by: Decider; readonly looksAt: string };

type Match = 'yes' | 'no' | 'maybe';
type Verdict = 'accept' | 'drop' | 'reject';

interface Doubt {
  readonly effect: Verdict | 'unknown';
  readonly by: Decider;
  readonly looksAt: string;
  /** The conditions name the destination or the port of the packet, or exclude sources. */
  readonly isAimed: boolean;
}

/** The fate of the packets for which a rate condition holds; with `isRest`, of those for which it does not. */
interface Share {
  readonly effect: Verdict;
  readonly by: Decider;
  readonly rate: RateCondition;
  readonly isRest: boolean;
  /** The rule of the rate. */
  readonly limitedBy: Decider;
  /** An earlier rule may accept them. */
  readonly isDoubtful: boolean;
  readonly isAimed: boolean;
}

/** The way of a packet to a rule: what cannot be judged on it, if anything. */
interface Path {
  readonly looksAt: string | undefined;
  readonly isAimed: boolean;
  readonly depth: number;
}

/** Bounds the walk: the kernel refuses chains that lead to each other in a circle, but a chain may be reached on many ways. */
const maximumDepth = 16;
const maximumSteps = 20_000;

/** Follows the packet through a base chain and the chains to which it leads. */
export function fateOf(filter: HostFilter, packet: ClientPacket): Fate {
  const { verdict, by, doubts, shares } = walk(filter, packet);
  const isOpen = verdict === 'accept';
  const limiting = shares.find(({ effect }) => (effect === 'accept') !== isOpen);
  if (isOpen && limiting?.isDoubtful === false) return lostIn(limiting.effect, limiting.by, limiting);
  const doubt = doubts.find(({ effect, isAimed }) => (isOpen ? isAimed && effect !== 'accept' : effect !== 'drop' && effect !== 'reject'));
  if (doubt !== undefined) return { kind: 'undecided', by: doubt.by, looksAt: doubt.looksAt };
  if (isOpen && limiting?.isAimed === true) return { kind: 'undecided', by: limiting.by, looksAt: `a rate (${limiting.rate.amount})` };
  return isOpen ? { kind: 'accepted' } : lostIn(verdict, by, limiting);
}

function lostIn(effect: Verdict, by: Decider, share: Share | undefined): Fate {
  const kind = effect === 'reject' ? 'rejected' : 'dropped';
  if (share === undefined) return { kind, by };
  const { rate, limitedBy, isRest } = share;
  // The packets of the share are lost if its effect is no accept: else the others are.
  const isMatchLost = (share.effect === 'accept') === isRest;
  return { kind, by, limit: { by: limitedBy, amount: rate.amount, isLost: isMatchLost !== rate.isBeyond } };
}

/** True when the filter certainly accepts every such packet, whatever its unknown fields are. */
export function acceptsAll(filter: HostFilter, packet: ClientPacket): boolean {
  const { verdict, doubts, shares } = walk(filter, packet);
  return verdict === 'accept' && [...doubts, ...shares].every(({ effect }) => effect === 'accept');
}

function walk(
  filter: HostFilter,
  packet: ClientPacket,
): { readonly verdict: Verdict; readonly by: Decider; readonly doubts: readonly Doubt[]; readonly shares: readonly Share[] } {
  const { chain, policy, devices } = filter;
  const isElsewhere = packet.devices?.some((name) => devices?.includes(name)) === false && devices !== undefined;
  if (isElsewhere || !familiesOf(filter).includes(packet.family)) return { verdict: 'accept', by: { chain }, doubts: [], shares: [] };
  const looksAt = devices !== undefined && packet.devices === undefined ? words.interface : undefined;
  const walked = new Walk(filter, packet);
  const { doubts, shares } = walked;
  const end = walked.follow(chain, { looksAt, isAimed: false, depth: 0 });
  if (end !== 'goesOn') return { ...end, doubts, shares };
  if (looksAt === undefined || policy === 'accept') return { verdict: policy, by: { chain }, doubts, shares };
  return { verdict: 'accept', by: { chain }, doubts: [...doubts, { effect: policy, by: { chain }, looksAt, isAimed: true }], shares };
}

class Walk {
  readonly doubts: Doubt[] = [];
  readonly shares: Share[] = [];
  readonly #filter: HostFilter;
  readonly #packet: ClientPacket;
  #steps = 0;

  constructor(filter: HostFilter, packet: ClientPacket) {
    this.#filter = filter;
    this.#packet = packet;
  }

  /** Returns the certain verdict in this chain. On a way with a doubt there is none: every verdict becomes a doubt. */
  follow(chain: string, path: Path): { readonly verdict: Verdict; readonly by: Decider } | 'goesOn' {
    const rules = this.#filter.chains.get(chain) ?? (chain === this.#filter.chain ? [] : undefined);
    if (rules === undefined || path.depth > maximumDepth) {
      this.#doubt('unknown', { chain }, { ...path, looksAt: path.looksAt ?? `chain ${chain}, whose rules Herald has not read` });
      return 'goesOn';
    }
    let returned: Pick<Share, 'rate' | 'limitedBy'> | undefined;
    for (const rule of rules) {
      if (++this.#steps > maximumSteps) {
        this.#doubt('unknown', { chain, rule }, { ...path, looksAt: 'more rules than Herald follows' });
        return 'goesOn';
      }
      const here = this.#pathOf(rule, path);
      if (here === undefined || rule.action.kind === 'none') continue;
      const end = this.#act(chain, rule, here);
      const rate = rule.conditions.find((condition) => condition.field === 'rate');
      if (end === 'goesOn') continue;
      if (rate !== undefined) {
        // The other packets continue with the next rule.
        if (end === 'returns') returned = { rate, limitedBy: { chain, rule } };
        else this.#share(end, { rate, limitedBy: { chain, rule }, isRest: false, isAimed: here.isAimed });
        continue;
      }
      if (end === 'returns') return 'goesOn';
      if (returned === undefined) return end;
      this.#share(end, { ...returned, isRest: true, isAimed: here.isAimed });
      return 'goesOn';
    }
    return 'goesOn';
  }

  #share({ verdict, by }: { readonly verdict: Verdict; readonly by: Decider }, how: Omit<Share, 'effect' | 'by' | 'isDoubtful'>): void {
    const isDoubtful = this.doubts.some(({ effect }) => effect === 'accept' || effect === 'unknown');
    this.shares.push({ ...how, effect: verdict, by, isDoubtful });
  }

  #act(chain: string, rule: FilterRule, here: Path): ReturnType<Walk['follow']> | 'returns' {
    const { action } = rule;
    const by = { chain, rule };
    if ('chain' in action) {
      const end = this.follow(action.chain, { ...here, depth: here.depth + 1 });
      return end === 'goesOn' && action.kind === 'goto' && here.looksAt === undefined ? 'returns' : end;
    }
    if (action.kind === 'return') {
      if (here.looksAt === undefined) return 'returns';
      this.#doubt('unknown', by, here);
    } else if (action.kind === 'unknown') this.#doubt('unknown', by, { ...here, looksAt: here.looksAt ?? rule.text });
    else if (here.looksAt !== undefined) this.#doubt(action.kind === 'none' ? 'unknown' : action.kind, by, here);
    else if (action.kind !== 'none') return { verdict: action.kind, by };
    return 'goesOn';
  }

  #doubt(effect: Doubt['effect'], by: Decider, { looksAt = '', isAimed }: Path): void {
    this.doubts.push({ effect, by, looksAt, isAimed });
  }

  /** Returns the path behind the conditions of a rule. Undefined: the rule does not match. */
  #pathOf({ conditions }: FilterRule, path: Path): Path | undefined {
    let { looksAt, isAimed } = path;
    for (const condition of conditions) {
      const match = matchOf(condition, this.#packet);
      if (match === 'no') return undefined;
      if (match === 'maybe') looksAt ??= nameOf(condition);
      isAimed ||= isAimedAt(condition, match);
    }
    return { ...path, looksAt, isAimed };
  }
}

function isAimedAt(condition: FilterCondition, match: Match): boolean {
  if (condition.field === 'rate') return false;
  if (condition.field === 'other') return reversePath.test(condition.looksAt);
  if (condition.field === 'source' || condition.field === 'interface') return condition.negated && match === 'maybe';
  return named.has(condition.field) && !condition.negated && match === 'yes';
}

/** Fields by which a rule names a Service or its endpoints. */
const named: ReadonlySet<FilterCondition['field']> = new Set(['destination', 'port', 'sourcePort']);

/** A check of the reverse path drops clients whose answers would leave by another interface. */
const reversePath = /^fib saddr .*iif oif$|^the extension rpfilter /;

const words = {
  family: 'the family',
  protocol: 'the protocol',
  source: 'the source address',
  destination: 'the destination address',
  port: 'the destination port',
  sourcePort: 'the source port',
  rate: 'a rate',
  interface: 'the interface by which packets come in',
  outInterface: 'the interface by which packets leave',
  state: 'ct state',
  translated: 'ct status',
} as const;

const nameOf = (condition: FilterCondition): string => (condition.field === 'other' ? condition.looksAt : words[condition.field]);

function matchOf(condition: FilterCondition, packet: ClientPacket): Match {
  if (condition.field === 'rate') return 'yes';
  if (condition.field === 'other') return packet.isOnlyWay === true && reversePath.test(condition.looksAt) ? 'no' : 'maybe';
  const holds = holdsFor(condition, packet);
  if (holds === undefined) return 'maybe';
  return holds === condition.negated ? 'no' : 'yes';
}

/** Returns whether the packet has one of the values. Undefined: not known. */
function holdsFor(condition: Exclude<FilterCondition, { readonly field: 'other' | 'rate' }>, packet: ClientPacket): boolean | undefined {
  const { protocol, destination, port, source, sourcePort, interface: incoming } = packet;
  switch (condition.field) {
    case 'family':
      return condition.family === packet.family;
    case 'protocol':
      return protocol === undefined ? undefined : condition.names.includes(protocol) || condition.names.includes(numbers[protocol] ?? '');
    case 'source':
      if (source !== undefined) return condition.prefixes.some((prefix) => prefixContains(prefix, source));
      return condition.prefixes.some(({ length, address }) => length === 0 && address.family === packet.family) ? true : undefined;
    case 'destination':
      return destination === undefined ? undefined : condition.prefixes.some((prefix) => prefixContains(prefix, destination));
    case 'port':
      return port === undefined ? undefined : condition.ranges.some(({ first, last }) => first <= port && port <= last);
    case 'sourcePort':
      return sourcePort === undefined ? undefined : condition.ranges.some(({ first, last }) => first <= sourcePort && sourcePort <= last);
    case 'interface':
      return incoming === undefined ? undefined : condition.names.some((name) => matchesInterface(incoming, name));
    case 'outInterface':
      return condition.names.every((name) => dockerBridge.test(name)) ? false : undefined;
    case 'state':
      return packet.isUntracked ? undefined : condition.states.includes('new');
    case 'translated':
      return packet.isUntracked ? undefined : packet.isTranslated;
    default:
      return undefined;
  }
}

/** Rules may have the number of a protocol. */
const numbers: Readonly<Record<string, string>> = { tcp: '6', udp: '17', sctp: '132' };
