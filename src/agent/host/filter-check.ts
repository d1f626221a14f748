import { defined } from '../../lang/defined.ts';
import { planAllowances } from '../../decisions/host/filter-allowances.ts';
import { blockedByFilters, judgeFilters, type ServedPorts } from '../../decisions/host/filters.ts';
import type { BlockedFamily } from '../../decisions/host/blocked-by-settings.ts';
import { entryDevices } from '../../decisions/host/entry-devices.ts';
import { entriesOf } from '../../decisions/host/required-settings.ts';
import type { ServicesScope } from '../../model/kinds/types.ts';
import { reason, reasonText, type Reason } from '../../model/reasons.ts';
import { formatAddress } from '../../net/address.ts';
import type { AllowanceChange, HostFilter, TrafficFilter } from '../../net/host-filter.ts';
import type { HostLink } from '../../net/host-link.ts';
import { formatPrefix } from '../../net/prefix.ts';
import type { Host } from '../../system/host.ts';
import type { RandomSurroundings } from '../../system/random.ts';
import { limits } from '../limits.ts';
import type { ObjectFacts } from './host-facts.ts';
import { ServiceFilters, type Forwarded } from './service-filters.ts';

export interface FilterCheckComponents extends RandomSurroundings {
  readonly host: Host;
  /** Rejects if the filters cannot be listed. */
  readonly hostFilters: () => Promise<readonly HostFilter[]>;
  /** The links of this host. Absent: they cannot be read. */
  readonly hostLinks?: () => Promise<readonly HostLink[]>;
  /** Lists the programs and filters on these interfaces that Herald cannot read. Rejects if the kernel does not answer. Absent: there are none. */
  readonly trafficFilters?: (interfaces: readonly string[]) => Promise<readonly TrafficFilter[]>;
  /** Changes Herald's rules in filters of other programs, and returns the errors. Absent: Herald has no rules there. */
  readonly changeAllowances?: (changes: readonly AllowanceChange[]) => Promise<readonly string[]>;
}

export interface FilterCheckOptions {
  readonly node: string;
  /** `allow`: the check has filters of other programs accept packets of Services. `report`: it only reports them. */
  readonly filters: 'allow' | 'report';
  readonly facts: () => ObjectFacts;
  /** Where Herald forwards nothing, the check leaves the host to the program that forwards. */
  readonly services: () => ServicesScope;
  readonly servedPorts: () => ServedPorts;
  /** The interfaces by which packets for IPv4 endpoints leave, in the order of their need. */
  readonly endpointInterfaces: () => readonly string[];
  /** The forwarding of each Service. */
  readonly plans: () => Forwarded;
  /** Called when `doubtfulSince` changed. */
  readonly onDoubtful: () => void;
  /** Called when the result of `filtered` changed. The owner reports a change of `problems`. */
  readonly onStatusChanged: () => void;
}

/** Checks whether filters of other programs let packets of Services through. */
export class FilterCheck {
  readonly #components: FilterCheckComponents;
  readonly #options: FilterCheckOptions;
  /** Makes a change of `problems`. */
  readonly #update: (change: () => void) => void;
  readonly #serviceFilters = new ServiceFilters();
  #judged: readonly Reason[] = [];
  #traffic: readonly Reason[] = [];
  /** Why the filters cannot be read. Undefined: the last check read them. */
  #unread: Reason | undefined;
  #blocked: readonly BlockedFamily[] = [];
  /** The texts of all rules at the last check. Undefined: there was none. */
  #rules: ReadonlySet<string> | undefined;
  /** By chain and rule: when a rule came that could not be judged. */
  #cameAt: ReadonlyMap<string, string> = new Map();
  #doubtfulSince = Number.NEGATIVE_INFINITY;
  #checked = Number.NEGATIVE_INFINITY;

  constructor(components: FilterCheckComponents, options: FilterCheckOptions, update: (change: () => void) => void) {
    this.#components = components;
    this.#options = options;
    this.#update = update;
  }

  problems(): readonly Reason[] {
    return [...(this.#unread === undefined ? [] : [this.#unread]), ...this.#judged, ...this.#traffic];
  }

  /** Returns the families that filters certainly drop. */
  blocked(): readonly BlockedFamily[] {
    return this.#blocked;
  }

  /** When the latest rule came that could not be judged, in milliseconds of the clock. Minus infinity: none has come while this process runs. */
  get doubtfulSince(): number {
    return this.#doubtfulSince;
  }

  /** Returns the Services whose packets a filter certainly drops. */
  filtered(): ReturnType<ServiceFilters['filtered']> {
    return this.#serviceFilters.filtered();
  }

  /** A program that loads its rules again removes Herald's. A filter that was repaired is not called a cause for long. */
  isDue(): boolean {
    const isQuick = this.#options.filters === 'allow' || this.#judged.length > 0 || this.filtered().length > 0;
    const pause = isQuick ? limits.forwardingCheckMilliseconds : limits.filterCheckMilliseconds;
    return this.#components.clock.now() - this.#checked >= pause;
  }

  /** Lists the filters and judges them. */
  async check(): Promise<void> {
    const { hostFilters, clock, log } = this.#components;
    this.#checked = clock.now();
    await this.#checkTraffic();
    try {
      const forwards = this.#options.services() !== 'none';
      const { passedPods } = this.#options.facts();
      const listed = await hostFilters();
      const isChanged = await this.#changeAllowances(planAllowances(listed, passedPods, forwards && this.#options.filters === 'allow'));
      const all = isChanged ? await hostFilters() : listed;
      const filters = all.filter(({ hook }) => forwards || hook === 'input');
      this.#blocked = blockedByFilters(filters, passedPods);
      await this.#checkServices(forwards ? all : []);
      const reasons = [
        ...judgeFilters(filters, this.#options.servedPorts(), passedPods),
        ...this.#dated(all, this.#serviceFilters.undecided()),
      ];
      this.#update(() => ([this.#judged, this.#unread] = [reasons, undefined]));
    } catch (error) {
      // The result of the last successful check stays valid.
      log.warn({ error }, 'the filters of other programs cannot be listed');
      const why = error instanceof Error ? error.message : String(error);
      this.#update(() => (this.#unread = reason('FiltersUnread', { error: why.slice(0, limits.hostErrorLength) })));
    }
  }

  /** Looks at the interfaces by which clients come, and by which packets for endpoints leave. */
  async #checkTraffic(): Promise<void> {
    const { host, trafficFilters, log } = this.#components;
    if (trafficFilters === undefined) return;
    try {
      const entries = entriesOf({ interfaces: host.interfaces(), ...this.#options.facts() });
      const interfaces = new Set([...entries, ...this.#options.endpointInterfaces()]);
      const found = this.#options.services() === 'none' ? [] : await trafficFilters([...interfaces]);
      const reasons = [...Map.groupBy(found, (one) => one.interface)].map(([name, ofInterface]) => {
        const plugin = ofInterface.every((one) => one.plugin !== undefined) ? ofInterface[0]?.plugin : undefined;
        const texts = ofInterface.map(({ text }) => text).slice(0, namedServices);
        return reason('TrafficFilterUnread', { interface: name, filters: texts.join(' and '), ...defined({ plugin }) });
      });
      this.#update(() => (this.#traffic = reasons));
    } catch (error) {
      // The result of the last successful look stays valid.
      log.debug({ error }, 'the programs on interfaces cannot be listed');
    }
  }

  /** Adds since when each rule is there, as far as this process has seen it come. A rule is not new because a Service is. */
  #dated(filters: readonly HostFilter[], undecided: readonly Reason[]): Reason[] {
    const { clock } = this.#components;
    const before = this.#rules;
    this.#rules = new Set(filters.flatMap(({ chains }) => [...chains.values()].flatMap((rules) => rules.map(({ text }) => text))));
    const present = `${clock.date().toISOString().slice(0, -5)}Z`;
    const since = new Map<string, string>();
    let hasCome = false;
    const dated = undecided.map((one) => {
      if (one.code !== 'FilterNotDecided') return one;
      const { chain, rule } = one.details;
      const isNew = before !== undefined && rule.endsWith(')') && ![...before].some((text) => rule.endsWith(`(${text})`));
      hasCome ||= isNew;
      const came = isNew ? present : this.#cameAt.get(`${chain} ${rule}`);
      if (came === undefined) return one;
      since.set(`${chain} ${rule}`, came);
      return reason('FilterNotDecided', { ...one.details, since: came });
    });
    this.#cameAt = since;
    if (hasCome) {
      this.#doubtfulSince = clock.now();
      this.#options.onDoubtful();
    }
    return dated;
  }

  async #checkServices(filters: readonly HostFilter[]): Promise<void> {
    const { host, hostLinks, log } = this.#components;
    const facts = { interfaces: host.interfaces(), ...this.#options.facts() };
    const own = new Set(host.addresses());
    const entries = entriesOf(facts);
    const families = ([4, 6] as const).filter((family) => !this.#blocked.some((blocked) => blocked.family === family));
    const before = this.#serviceFilters.filtered();
    const links = filters.some(({ devices }) => devices !== undefined) ? ((await hostLinks?.()) ?? []) : [];
    const ways = new Map(entries.map((entry) => [entry, entryDevices(links, entry)]));
    this.#serviceFilters.check(filters, this.#options.plans(), {
      node: this.#options.node,
      hasOthers: facts.hasOthers,
      entries,
      devicesOf: (entry) => ways.get(entry) ?? [[entry]],
      families,
      isOwn: (address) => own.has(formatAddress(address)),
      pods: facts.passedPods,
      text: JSON.stringify([facts.hasOthers, [...ways], families, [...own], facts.passedPods.map(formatPrefix)]),
    });
    const filtered = this.#serviceFilters.filtered();
    if (filtered === before || JSON.stringify(filtered) === JSON.stringify(before)) return;
    const problems = filtered.slice(0, namedServices).map(({ service, reason: why }) => `${service}: ${reasonText(why)}`);
    log.warn({ services: filtered.length, problems }, 'the Services whose packets a filter drops changed');
    this.#options.onStatusChanged();
  }

  /** Returns whether there was something to change. */
  async #changeAllowances(changes: readonly AllowanceChange[]): Promise<boolean> {
    const { changeAllowances, log } = this.#components;
    if (changeAllowances === undefined || changes.length === 0) return false;
    const errors = await changeAllowances(changes);
    const inserted = changes.flatMap(({ filter: { family, table }, to }) =>
      to === undefined ? [] : [`${to.chain} of table ${family} ${table}`],
    );
    const removed = changes.flatMap(({ filter: { family, table }, to }) => (to === undefined ? [`table ${family} ${table}`] : []));
    if (errors.length > 0) log.warn({ inserted, removed, errors }, 'rules that accept packets of Services could not be changed');
    else log.info({ inserted, removed }, 'changed the rules that accept packets of Services in filters of other programs');
    return true;
  }
}

/** Services that a line of the log names. */
const namedServices = 3;
