import type { Address, Family } from '../../net/address.ts';
import { dockerBridge, type FilterCondition, type FilterRule, type HostFilter } from '../../net/host-filter.ts';
import { matchesInterface } from '../../net/interface-pattern.ts';
import { prefixContains } from '../../net/prefix.ts';

/** The first packet of a connection from a client outside of the cluster, as a chain sees it. Its source is unknown. */
export interface ClientPacket {
  readonly family: Family;
  /** "tcp". Absent: not known, like the fields below. */
  readonly protocol?: string;
  readonly destination?: Address;
  readonly port?: number;
  /** The interface by which it comes. */
  readonly interface?: string;
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

/**
 * accepted, dropped, rejected: certainly. undecided: a rule whose condition cannot be judged may accept what the chain drops otherwise, or
 * may drop packets to this very destination. `looksAt`: what that condition reads.
 */
export type Fate =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'dropped' | 'rejected'; readonly by: Decider }
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
  const { verdict, by, doubts } = walk(filter, packet);
  const isOpen = verdict === 'accept';
  const doubt = doubts.find(({ effect, isAimed }) => (isOpen ? isAimed && effect !== 'accept' : effect !== 'drop' && effect !== 'reject'));
  if (doubt !== undefined) return { kind: 'undecided', by: doubt.by, looksAt: doubt.looksAt };
  if (verdict === 'accept') return { kind: 'accepted' };
  return { kind: verdict === 'drop' ? 'dropped' : 'rejected', by };
}

/** True when the filter certainly accepts every such packet, whatever its unknown fields are. */
export function acceptsAll(filter: HostFilter, packet: ClientPacket): boolean {
  const { verdict, doubts } = walk(filter, packet);
  return verdict === 'accept' && doubts.every(({ effect }) => effect === 'accept');
}

function walk(
  filter: HostFilter,
  packet: ClientPacket,
): { readonly verdict: Verdict; readonly by: Decider; readonly doubts: readonly Doubt[] } {
  const { chain, family, policy } = filter;
  if (family !== 'inet' && (family === 'ip' ? 4 : 6) !== packet.family) return { verdict: 'accept', by: { chain }, doubts: [] };
  const walked = new Walk(filter, packet);
  const end = walked.follow(chain, { looksAt: undefined, isAimed: false, depth: 0 });
  return { ...(end === 'goesOn' ? { verdict: policy, by: { chain } } : end), doubts: walked.doubts };
}

class Walk {
  readonly doubts: Doubt[] = [];
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
    for (const rule of rules) {
      if (++this.#steps > maximumSteps) {
        this.#doubt('unknown', { chain, rule }, { ...path, looksAt: 'more rules than Herald follows' });
        return 'goesOn';
      }
      const here = this.#pathOf(rule, path);
      if (here === undefined || rule.action.kind === 'none') continue;
      const end = this.#act(chain, rule, here);
      if (end === 'returns') return 'goesOn';
      if (end !== 'goesOn') return end;
    }
    return 'goesOn';
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
  if (condition.field === 'other') return reversePath.test(condition.looksAt);
  if (condition.field === 'source' || condition.field === 'interface') return condition.negated && match === 'maybe';
  return (condition.field === 'destination' || condition.field === 'port') && !condition.negated && match === 'yes';
}

/** A check of the reverse path drops clients whose answers would leave by another interface. */
const reversePath = /^fib saddr .*iif oif$|^the extension rpfilter /;

const words = {
  family: 'the family',
  protocol: 'the protocol',
  source: 'the source address',
  destination: 'the destination address',
  port: 'the destination port',
  interface: 'the interface by which packets come in',
  outInterface: 'the interface by which packets leave',
  state: 'ct state',
  translated: 'ct status',
} as const;

const nameOf = (condition: FilterCondition): string => (condition.field === 'other' ? condition.looksAt : words[condition.field]);

function matchOf(condition: FilterCondition, packet: ClientPacket): Match {
  if (condition.field === 'other') return packet.isOnlyWay === true && reversePath.test(condition.looksAt) ? 'no' : 'maybe';
  const holds = holdsFor(condition, packet);
  if (holds === undefined) return 'maybe';
  return holds === condition.negated ? 'no' : 'yes';
}

/** Returns whether the packet has one of the values. Undefined: not known. */
function holdsFor(condition: Exclude<FilterCondition, { readonly field: 'other' }>, packet: ClientPacket): boolean | undefined {
  const { protocol, destination, port, interface: incoming } = packet;
  switch (condition.field) {
    case 'family':
      return condition.family === packet.family;
    case 'protocol':
      return protocol === undefined ? undefined : condition.names.includes(protocol) || condition.names.includes(numbers[protocol] ?? '');
    case 'source':
      return condition.prefixes.some(({ length, address }) => length === 0 && address.family === packet.family) ? true : undefined;
    case 'destination':
      return destination === undefined ? undefined : condition.prefixes.some((prefix) => prefixContains(prefix, destination));
    case 'port':
      return port === undefined ? undefined : condition.ranges.some(({ first, last }) => first <= port && port <= last);
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
