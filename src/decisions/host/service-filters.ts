import type { ServiceKey } from '../../model/objects/metadata.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import { formatAddress, type Address, type Family } from '../../net/address.ts';
import { frontendKey, type Backend, type Frontend, type FrontendMatch } from '../../net/frontend.ts';
import type { HostFilter } from '../../net/host-filter.ts';
import type { Prefix } from '../../net/prefix.ts';
import { acceptsAll, fateOf, type ClientPacket, type Decider, type Fate, type Limit } from './filter-walk.ts';
import { filterName } from './filters.ts';
import { serviceFilterRemedy, type DroppedTarget } from './service-filter-remedies.ts';

/** What must be known of the host to follow packets of clients through its filters. */
export interface FilteredHost {
  readonly node: string;
  /** Other nodes pass connections to endpoints on this one. */
  readonly hasOthers: boolean;
  /** Every interface by which clients may come. Empty: not known. */
  readonly entries: readonly string[];
  /**
   * The ways by which packets come in by an entry, each with the interfaces that it passes: "eth0" and "eth1", two ports of "bond0". Absent: the entry
   * only.
   */
  readonly devicesOf?: (entry: string) => readonly (readonly string[])[];
  /** Families that the node forwards. The problem that keeps it from forwarding another one is that of the whole node. */
  readonly families: readonly Family[];
  /** True for addresses of the node itself, at which endpoints in its network are. */
  readonly isOwn: (address: Address) => boolean;
  /** Prefixes of this node's pods to which other nodes pass connections. */
  readonly pods: readonly Prefix[];
}

export interface ServiceFilterJudgement {
  /** Why packets of the Service are certainly lost on this node, all or a share of them. */
  readonly filtered: readonly Reason[];
  /** What could not be judged. */
  readonly undecided: readonly Reason[];
}

/** The kernel's translation of destinations, whatever the priorities of nat chains among themselves are (NF_IP_PRI_NAT_DST). */
const translation = -100;
/** Connection tracking (NF_IP_PRI_CONNTRACK). */
const tracking = -200;

/** Returns the filters that do not accept every packet of a client. */
export function selectiveFilters(filters: readonly HostFilter[]): HostFilter[] {
  const isOpen = (filter: HostFilter, family: Family): boolean =>
    [true, false].every((isTranslated) => acceptsAll(filter, { family, isTranslated, isUntracked: isUntracked(filter) }));
  return filters.filter((filter) => filter.priority !== translation && !([4, 6] as const).every((family) => isOpen(filter, family)));
}

/** Chains of an interface see no connections. */
const isUntracked = ({ hook, priority }: HostFilter): boolean =>
  hook === 'ingress' || hook === 'egress' || (hook === 'prerouting' && priority <= tracking);

/**
 * Judges whether the filters let packets of clients through to the Service: before the translation to its address and port, after it to
 * those of each endpoint, and on the way back the answer from the Service's address. A client may come by any of the host's entries. Judges also whether endpoints on this node get the packets that
 * other nodes have translated, by whichever interface they come. `filters`: by `selectiveFilters`.
 */
export function judgeServiceFilters(
  filters: readonly HostFilter[],
  service: ServiceKey,
  frontends: readonly Frontend[],
  host: FilteredHost,
): ServiceFilterJudgement {
  const losses: Loss[] = [];
  const undecided: Reason[] = [];
  for (const frontend of frontends) {
    const { match, scope, policy, directReturn } = frontend;
    if (match.kind !== 'address' || scope !== 'external' || directReturn !== undefined) continue;
    if (!host.families.includes(match.address.family)) continue;
    const backends = usableBackends(frontend);
    const fates = fatesOf(filters, match, backends, host);
    const passed = host.hasOthers && policy === 'Cluster' ? passedFates(filters, match, backends, host) : [];
    const isWhole = (lost: readonly TargetFate[]): boolean =>
      lost.length === backends.length || lost.some(({ stage }) => stage === 'before' || stage === 'answer');
    for (const some of [fates, passed].flatMap(splitByLimit)) {
      const lost = some.flatMap(({ fate, ...one }) => (fate.kind === 'undecided' ? [] : [{ ...one, fate }]));
      const isPassedOn = host.hasOthers && policy === 'Cluster';
      losses.push(
        ...lost.map((one) => ({
          ...one,
          match,
          areAll: one.fate.limit === undefined && isWhole(lost),
          alike: isPassedOn ? localTargetsAlike(one.filter, match, backends, host) : [],
        })),
      );
    }
    const doubt = fates.find(({ fate }) => fate.kind === 'undecided');
    if (doubt !== undefined) undecided.push(doubtReason(service, doubt, host));
  }
  const groups = Map.groupBy(
    losses,
    ({ filter, fate, areAll, stage }) => `${filterName(filter)} ${howText(filter, fate)} ${areAll} ${stage}`,
  );
  return { filtered: [...groups.values()].map((group) => lossReason(group, host)), undecided };
}

/** Keeps packets of which a share is lost apart from those that are all lost. */
function splitByLimit(fates: readonly TargetFate[]): TargetFate[][] {
  return [true, false].map((isLimited) => fates.filter((one) => (limitOf(one.fate) !== undefined) === isLimited));
}

const limitOf = (fate: TargetFate['fate']): Limit | undefined => (fate.kind === 'undecided' ? undefined : fate.limit);

const usableBackends = ({ policy, backends, localBackends }: Frontend): readonly Backend[] =>
  policy === 'Local' ? localBackends : backends;

type AddressMatch = Extract<FrontendMatch, { readonly kind: 'address' }>;

/** The fate of packets to one target, and the filter that decides. */
interface TargetFate {
  readonly target: DroppedTarget;
  /** Where the packet is lost: before or after this node's translation; passed: another node has translated it; answer: on the way to the client. */
  readonly stage: 'before' | 'after' | 'passed' | 'answer';
  readonly filter: HostFilter;
  readonly fate: Exclude<Fate, { readonly kind: 'accepted' }>;
}

interface Loss extends TargetFate {
  readonly match: AddressMatch;
  readonly areAll: boolean;
  readonly fate: Exclude<TargetFate['fate'], { readonly kind: 'undecided' }>;
  /** Endpoints on this node whose packets from other nodes may have the same fate, if they come by the same interfaces. */
  readonly alike: readonly DroppedTarget[];
}

/** Returns one fate for the frontend if the chains before the translation decide, else one for each backend that is not certainly reached. */
function fatesOf(filters: readonly HostFilter[], match: AddressMatch, backends: readonly Backend[], host: FilteredHost): TargetFate[] {
  if (backends.length === 0) return [];
  const { protocol, address, port } = match;
  const { entries, devicesOf } = host;
  const before = filters.filter(({ hook, priority }) => hook === 'ingress' || (hook === 'prerouting' && priority < translation));
  const target = { protocol, address, port };
  const after = filters.filter(({ hook }) => hook === 'egress');
  const first =
    fateThrough(before, { target, stage: 'before', entries, devicesOf }) ??
    fateThrough(after, { target, stage: 'answer', entries, devicesOf });
  if (first !== undefined) return [first];
  return backends.flatMap((backend) => {
    const isOnWay = ({ hook, priority }: HostFilter): boolean =>
      hook === lastHook(backend, host) || (hook === 'prerouting' && priority > translation);
    return fateThrough(filters.filter(isOnWay), { target: targetOf(match, backend), stage: 'after', entries, devicesOf }) ?? [];
  });
}

/** Returns the fates of packets that other nodes have translated to endpoints on this one. */
function passedFates(filters: readonly HostFilter[], match: AddressMatch, backends: readonly Backend[], host: FilteredHost): TargetFate[] {
  return backends.flatMap((backend) => {
    if (!backend.local) return [];
    const onWay = filters.filter(({ hook }) => hook === lastHook(backend, host) || hook === 'prerouting');
    return fateThrough(onWay, { target: targetOf(match, backend), stage: 'passed', entries: [] }) ?? [];
  });
}

/** Returns the endpoints on this node to which an ingress chain does not let all packets through either. Those in tunnels do not meet it. */
function localTargetsAlike(
  filter: HostFilter,
  match: AddressMatch,
  backends: readonly Backend[],
  { entries, devicesOf }: FilteredHost,
): readonly DroppedTarget[] {
  if (filter.hook !== 'ingress') return [];
  const targets = backends.flatMap((backend) => (backend.local ? [targetOf(match, backend)] : []));
  return targets.filter((target) => fateThrough([filter], { target, stage: 'passed', entries, devicesOf }) !== undefined);
}

const lastHook = ({ address }: Backend, { isOwn }: FilteredHost): HostFilter['hook'] => (isOwn(address) ? 'input' : 'forward');
const targetOf = ({ protocol }: AddressMatch, { address, port, local }: Backend): DroppedTarget => ({ protocol, address, port, local });

type Way = Pick<TargetFate, 'target' | 'stage'> & {
  /** Interfaces by which the packet may come. Empty: any. */
  readonly entries: readonly string[];
  readonly devicesOf?: FilteredHost['devicesOf'] | undefined;
};

/** Returns the first filter that does not let packets through, by whichever interface they come. Undefined: all do. */
function fateThrough(filters: readonly HostFilter[], way: Way): TargetFate | undefined {
  const { target, stage, entries, devicesOf = (entry) => [[entry]] } = way;
  const ways = entries.flatMap((entry) => devicesOf(entry).map((devices) => ({ interface: entry, devices })));
  const found = filters.flatMap((filter): TargetFate[] => {
    const packet = { ...packetTo(target, stage), isTranslated: stage === 'after', isUntracked: isUntracked(filter) };
    const isOnlyWay = entries.length === 1;
    const fates = ways.length === 0 ? [fateOf(filter, packet)] : ways.map((one) => fateOf(filter, { ...packet, ...one, isOnlyWay }));
    const fate = onEveryWay(
      fates,
      ways.map(({ devices }) => devices[0] ?? ''),
    );
    return fate.kind === 'accepted' ? [] : [{ filter, fate, target, stage }];
  });
  const isWhole = ({ fate }: TargetFate): boolean => fate.kind !== 'undecided' && fate.limit === undefined;
  return found.find(isWhole) ?? found.find(({ fate }) => fate.kind !== 'undecided') ?? found[0];
}

/** The packet to the target; for an answer the one from it. */
function packetTo(
  { protocol, address, port }: DroppedTarget,
  stage: TargetFate['stage'],
): Omit<ClientPacket, 'isTranslated' | 'isUntracked'> {
  const of = { family: address.family, protocol: protocol.toLowerCase() };
  return stage === 'answer' ? { ...of, source: address, sourcePort: port } : { ...of, destination: address, port };
}

/** A packet is certainly lost only if it is on every way. `entries`: one for each way. */
function onEveryWay(fates: readonly Fate[], entries: readonly string[]): Fate {
  const lost = fates.flatMap((fate, index) =>
    fate.kind === 'dropped' || fate.kind === 'rejected' ? [{ fate, entry: entries[index] }] : [],
  );
  const first = lost.find(({ fate }) => fate.limit !== undefined) ?? lost[0];
  if (first === undefined || lost.length === fates.length)
    return first?.fate ?? fates.find(({ kind }) => kind === 'undecided') ?? { kind: 'accepted' };
  const by = lost.map(({ entry }) => entry).join(' and ');
  return { kind: 'undecided', by: first.fate.by, looksAt: `the interface by which packets come in: those that come by ${by} are lost` };
}

const times: Readonly<Record<TargetFate['stage'], string>> = {
  before: 'before Herald translates them',
  after: '',
  passed: 'that other nodes pass on',
  answer: '',
};

function lossReason(group: readonly Loss[], { node, hasOthers, pods }: FilteredHost): Reason {
  const [first] = group;
  if (first === undefined) throw new RangeError('a loss has a cause');
  const { filter, fate, stage } = first;
  const { limit } = fate;
  const targets = [...new Map(group.map(({ target }) => [targetText(target), target])).values()];
  const frontends = [...new Set(group.map(({ match }) => frontendKey(match)))].slice(0, namedFrontends);
  const code = limit !== undefined ? 'ServiceLimited' : stage === 'passed' ? 'PassedFiltered' : 'ServiceFiltered';
  return reason(code, {
    node,
    chain: filterName(filter),
    hook: filter.hook,
    effect: fate.kind === 'rejected' ? 'rejects' : 'drops',
    targets: targetsText(targets),
    when: times[stage],
    how: howText(filter, fate),
    frontends: frontends.join(', '),
    share: first.areAll ? 'all' : 'some',
    remedy: serviceFilterRemedy({
      filter,
      targets: [...targets, ...new Map(group.flatMap(({ alike }) => alike).map((target) => [targetText(target), target])).values()],
      isPassed: stage === 'passed',
      isPolicy: fate.by.rule === undefined && limit === undefined,
      hasOthers,
      pods,
    }),
  });
}

function doubtReason(service: ServiceKey, { target, filter, fate }: TargetFate, { hasOthers, pods }: FilteredHost): Reason {
  if (fate.kind !== 'undecided') throw new RangeError('only a doubt is undecided');
  return reason('FilterNotDecided', {
    chain: filterName(filter),
    rule: ruleText(filter, fate.by) ?? 'a rule',
    looksAt: fate.looksAt,
    service,
    target: targetText(target),
    remedy: serviceFilterRemedy({ filter, targets: [target], isPassed: false, isPolicy: false, hasOthers, pods }),
  });
}

function howText(filter: HostFilter, { by, limit }: Loss['fate']): string {
  if (limit !== undefined) return `${limitText(limit)}, by ${ruleText(filter, limit.by)}`;
  const rule = ruleText(filter, by);
  return rule === undefined ? 'its policy is drop, and none of its rules accepts them' : `by ${rule}`;
}

/** "only 5 packets a second pass"; "1 of 4 packets is lost". */
function limitText({ amount, isLost }: Limit): string {
  const isOne = amount.startsWith('1 ');
  if (isLost) return `${amount} ${isOne ? 'is' : 'are'} lost`;
  return `only ${amount} ${isOne ? 'passes' : 'pass'}`;
}

/** "rule 2 (tcp dport 80 drop)"; "rule 1 of chain user (drop)". Undefined: the policy decides. */
function ruleText({ chain: base }: HostFilter, { chain, rule }: Decider): string | undefined {
  if (rule === undefined) return chain === base ? undefined : `chain ${chain}`;
  return `rule ${rule.number}${chain === base ? '' : ` of chain ${chain}`} (${rule.text})`;
}

/** A sentence names some targets and counts the rest. */
const namedTargets = 3;
/** Frontends that one reason reports. Those of further ports and addresses of the Service are not claimed to be filtered. */
const namedFrontends = 64;

function targetsText(targets: readonly DroppedTarget[]): string {
  const protocols = [...new Set(targets.map(({ protocol }) => protocol))].join(' and ');
  const hidden = targets.length - namedTargets;
  const named = [...targets.slice(0, namedTargets).map(targetText), ...(hidden > 0 ? [`${hidden} others`] : [])];
  const [last = ''] = named.slice(-1);
  return `${named.length < 2 ? last : `${named.slice(0, -1).join(', ')} and ${last}`} (${protocols})`;
}

function targetText({ address, port }: DroppedTarget): string {
  const text = formatAddress(address);
  return address.family === 6 ? `[${text}]:${port}` : `${text}:${port}`;
}
