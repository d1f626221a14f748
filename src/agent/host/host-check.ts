import { type BlockedFamily, blockedBySettings, forwardingPaths } from '../../decisions/host/blocked-by-settings.ts';
import { planAllowances } from '../../decisions/host/filter-allowances.ts';
import { blockedByFilters, judgeFilters, type ServedPorts } from '../../decisions/host/filters.ts';
import { connectionTablePaths, judgeConnectionTable } from '../../decisions/host/connection-table.ts';
import { judgeNats } from '../../decisions/host/foreign-nat.ts';
import { servedElsewhere } from '../../decisions/host/node-interfaces.ts';
import { judgeListeners, judgeOwnAddresses } from '../../decisions/host/node-port-listeners.ts';
import { sysctlName, type KernelSetting } from '../../decisions/host/kernel-setting.ts';
import { entriesOf, requiredSettings, uplinksOf } from '../../decisions/host/required-settings.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { reason, reasonText, type Reason } from '../../model/reasons.ts';
import type { ServicesScope } from '../../model/kinds/types.ts';
import { formatAddress, type Family } from '../../net/address.ts';
import type { FrontendMatch } from '../../net/frontend.ts';
import { formatPrefix } from '../../net/prefix.ts';
import type { AllowanceChange, HostFilter } from '../../net/host-filter.ts';
import type { HostNatRule } from '../../net/host-nat.ts';
import type { Cancel } from '../../system/clock.ts';
import type { Host } from '../../system/host.ts';
import { readSettings } from '../host-readings.ts';
import { limits } from '../limits.ts';
import type { RandomSurroundings } from '../../system/random.ts';
import type { ObjectFacts } from './host-facts.ts';
import { ServiceFilters, type Forwarded } from './service-filters.ts';

export interface HostCheckComponents extends RandomSurroundings {
  readonly host: Host;
  /** Rejects if the filters cannot be listed. */
  readonly hostFilters: () => Promise<readonly HostFilter[]>;
  /** Changes Herald's rules in filters of other programs, and returns the errors. Absent: Herald has no rules there. */
  readonly changeAllowances?: (changes: readonly AllowanceChange[]) => Promise<readonly string[]>;
  /** Rejects if the rules cannot be listed. Absent: no other program translates packets before Herald. */
  readonly hostNats?: () => Promise<readonly HostNatRule[]>;
  /** NodePorts that should be served on localhost and are not. Absent: there are none. */
  readonly unservedLocalhost?: () => readonly { readonly port: number; readonly family: Family; readonly why: string }[];
  /** Calls `changed` when the kernel reports a change of a setting or an address. Absent: changes are found at intervals. */
  readonly followSettings?: (changed: () => void) => Cancel;
}

interface HostCheckOptions {
  readonly node: string;
  /** `set`: the check corrects kernel settings. `report`: it only reports them. */
  readonly kernelSettings: 'set' | 'report';
  /** `allow`: the check has filters of other programs accept packets of Services. `report`: it only reports them. */
  readonly filters: 'allow' | 'report';
  readonly facts: () => ObjectFacts;
  /** Where Herald forwards nothing, the check leaves the host to the program that forwards. */
  readonly services: () => ServicesScope;
  readonly servedPorts: () => ServedPorts;
  /** Finds what in the networks of the node keeps packets from pods or from clients. Rejects if the kernel does not answer. */
  readonly networks: () => Promise<readonly Reason[]>;
  /** The forwarding of each Service. */
  readonly plans: () => Forwarded;
  /** Called after each check that follows the start: addresses of the node may have changed as well. */
  readonly onChecked: () => void;
  /** Called after each check of forwarding: once before the start, then every few seconds. `blocked` may have changed. */
  readonly onForwardingChecked: () => void;
  /** Called when the result of `problems` changed. */
  readonly onStatusChanged: () => void;
}

/** Checks at intervals what forwarding needs of the host: other programs change it. Corrects what it may and reports the rest. */
export class HostCheck {
  readonly #components: HostCheckComponents;
  readonly #options: HostCheckOptions;
  #settings: readonly Reason[] = [];
  #filters: readonly Reason[] = [];
  #listeners: readonly Reason[] = [];
  #connections: readonly Reason[] = [];
  #networks: readonly Reason[] = [];
  #taken: ReturnType<typeof judgeNats> = [];
  readonly #serviceFilters = new ServiceFilters();
  #blockedBySettings: readonly BlockedFamily[] = [];
  #blockedByFilters: readonly BlockedFamily[] = [];
  /** The settings that the last check of all settings read, their values after it, and the interfaces that it saw, as text. */
  #read: readonly string[] = [];
  #values = '';
  #interfaces = '';
  /** The kernel has reported a change since the interfaces were last read: reading hundreds takes some milliseconds. */
  #interfacesTouched = true;
  #settingsCompared = Number.NEGATIVE_INFINITY;
  #filtersChecked = Number.NEGATIVE_INFINITY;
  #cancel: Cancel | undefined;
  #cancelWatch: Cancel | undefined;
  #unfollow: Cancel | undefined;
  /** Set while a reported change of a setting is about to be read. */
  #cancelCompare: Cancel | undefined;
  #checking: Promise<void> = Promise.resolve();
  #stopped = false;
  /** The scope at the last `start`. Undefined before that. */
  #scope: ServicesScope | undefined;

  constructor(components: HostCheckComponents, options: HostCheckOptions) {
    this.#components = components;
    this.#options = options;
  }

  problems(): Reason[] {
    const unserved = this.#components.unservedLocalhost?.() ?? [];
    const localhost = unserved.map(({ family, port, why }) => reason('LocalhostNodePortNotServed', { port, family: `IPv${family}`, why }));
    return [...this.#settings, ...this.#filters, ...this.#listeners, ...this.#connections, ...this.#networks, ...localhost];
  }

  /** Returns the families that the host certainly does not forward, each with one problem that prevents it or several. */
  blocked(): readonly BlockedFamily[] {
    return [...this.#blockedBySettings, ...this.#blockedByFilters];
  }

  /** Returns the Services whose packets another program may translate before Herald does. */
  taken(): ReturnType<typeof judgeNats> {
    return this.#taken;
  }

  /** Returns the Services whose packets a filter of another program certainly drops. */
  filtered(): ReturnType<ServiceFilters['filtered']> {
    return this.#serviceFilters.filtered();
  }

  /** Checks whether the host forwards, before anything is forwarded or announced. */
  async checkForwarding(): Promise<void> {
    await this.checkSettings();
    await this.#checkFilters();
    this.#options.onForwardingChecked();
  }

  /** Checks the kernel settings. Called before anything is forwarded or announced. */
  async checkSettings(): Promise<void> {
    const { host } = this.#components;
    if (this.#options.services() === 'none') {
      this.#blockedBySettings = [];
      this.#update(() => (this.#settings = []));
      return;
    }
    this.#interfacesTouched = this.#components.followSettings === undefined;
    const interfaces = host.interfaces();
    const advertisedDefault = await host.interfacesWithAdvertisedDefault();
    const facts = this.#options.facts();
    const uplinks = uplinksOf({ interfaces, ...facts }).slice(0, limits.hostSettings);
    const required = requiredSettings({ cores: host.cores(), interfaces, advertisedDefault, ...facts }).slice(0, limits.hostSettings);
    const wrong = new Map<string, Reason>();
    const reasons: Reason[] = [];
    for (const setting of required) {
      const isHeld = setting.after.some((path) => wrong.has(path));
      const because = await this.#checkSetting(setting, isHeld);
      if (because === undefined || setting.isOptional === true) continue;
      wrong.set(setting.path, because);
      reasons.push(because);
    }
    this.#read = [...new Set([...forwardingPaths(uplinks), ...required.flatMap(({ reads }) => reads)])];
    const values = await readSettings(host, this.#read);
    this.#values = textOf(values);
    this.#interfaces = JSON.stringify(interfaces);
    this.#blockedBySettings = blockedBySettings((path) => values.get(path), uplinks, wrong);
    this.#update(() => (this.#settings = reasons));
  }

  /** Checks everything now and about every minute from now on. */
  start(): void {
    this.#scope = this.#options.services();
    this.#cancel?.();
    this.#checking = this.#checking.then(() => this.#checkAll());
    if (this.#cancelWatch !== undefined) return;
    this.#unfollow = this.#components.followSettings?.(() => this.#onSettingChanged());
    this.#watchForwarding();
  }

  /** Checks again at once if the scope changed after the start. */
  applyScope(services: ServicesScope): void {
    if (this.#scope !== undefined && this.#scope !== services) this.start();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel?.();
    this.#cancelWatch?.();
    this.#unfollow?.();
    this.#cancelCompare?.();
    await this.#checking;
  }

  async #checkAll(): Promise<void> {
    const { clock, random } = this.#components;
    await this.checkSettings();
    await this.#checkFilters();
    await this.#checkNats();
    await this.#checkListeners();
    await this.#checkNetworks();
    await this.#checkConnections();
    if (this.#stopped) return;
    this.#options.onForwardingChecked();
    this.#options.onChecked();
    this.#cancel?.();
    this.#cancel = clock.after(limits.hostCheckMilliseconds * (0.75 + 0.25 * random()), () => this.start());
  }

  /** The kernel reports a change of `ip_forward` once for each interface, and our own corrections as well. */
  #onSettingChanged(): void {
    this.#interfacesTouched = true;
    if (this.#stopped || this.#cancelCompare !== undefined) return;
    const { clock } = this.#components;
    // A program that keeps changing a setting must not keep the agent busy.
    const pause = Math.max(0, this.#settingsCompared + limits.settingPauseMilliseconds - clock.now());
    this.#cancelCompare = clock.after(pause, () => {
      this.#cancelCompare = undefined;
      this.#checking = this.#checking.then(() => this.#checkReportedSettings());
    });
  }

  async #checkReportedSettings(): Promise<void> {
    if (!this.#stopped && (await this.#checkChangedSettings())) this.#options.onForwardingChecked();
  }

  /** Checks all settings if one has another value than after the last check. Returns whether one had. */
  async #checkChangedSettings(): Promise<boolean> {
    this.#settingsCompared = this.#components.clock.now();
    if (this.#options.services() === 'none' || textOf(await readSettings(this.#components.host, this.#read)) === this.#values) return false;
    await this.checkSettings();
    return true;
  }

  /** A new interface or address may make an uplink, whose settings no check has read. */
  #haveInterfacesChanged(): boolean {
    if (!this.#interfacesTouched || this.#options.services() === 'none') return false;
    this.#interfacesTouched = this.#components.followSettings === undefined;
    return JSON.stringify(this.#components.host.interfaces()) !== this.#interfaces;
  }

  /** Checks between the full checks only the settings, the filters less often, and whether there is room for connections. */
  #watchForwarding(): void {
    if (this.#stopped) return;
    this.#cancelWatch = this.#components.clock.after(limits.forwardingCheckMilliseconds, () => {
      this.#checking = this.#checking.then(() => this.#checkForwardingQuickly());
    });
  }

  async #checkForwardingQuickly(): Promise<void> {
    if (this.#stopped) return;
    const { clock } = this.#components;
    if (this.#haveInterfacesChanged()) await this.checkSettings();
    else await this.#checkChangedSettings();
    // A program that loads its rules again removes Herald's.
    const pause = this.#options.filters === 'allow' ? limits.forwardingCheckMilliseconds : limits.filterCheckMilliseconds;
    if (clock.now() - this.#filtersChecked >= pause) {
      await this.#checkFilters();
      await this.#checkNats();
    }
    await this.#checkConnections();
    if (this.#stopped) return;
    this.#options.onForwardingChecked();
    this.#watchForwarding();
  }

  /** In every scope: whoever forwards, new connections to this node need room. */
  async #checkConnections(): Promise<void> {
    const values = await readSettings(this.#components.host, connectionTablePaths);
    const because = judgeConnectionTable((path) => values.get(path), this.#connections.length > 0);
    this.#update(() => (this.#connections = because === undefined ? [] : [because]));
  }

  async #checkNetworks(): Promise<void> {
    try {
      const reasons = await this.#options.networks();
      this.#update(() => (this.#networks = reasons));
    } catch (error) {
      // The result of the last successful check stays valid.
      this.#components.log.debug({ error }, 'the interfaces and routes of the host cannot be read');
    }
  }

  async #checkListeners(): Promise<void> {
    const { host, log } = this.#components;
    try {
      const sockets = await host.listening();
      const elsewhere = new Set(host.interfaces().flatMap(({ name, address }) => (servedElsewhere.has(name) ? [address] : [])));
      const own = new Set(host.addresses()).difference(elsewhere);
      const reasons = [
        ...judgeListeners(sockets, this.#options.facts().nodePorts()),
        ...judgeOwnAddresses(sockets, this.#frontends(), own).slice(0, limits.hostReasons),
      ];
      this.#update(() => (this.#listeners = reasons));
    } catch (error) {
      log.debug({ error }, 'the listening sockets of the host cannot be listed');
    }
  }

  async #checkNats(): Promise<void> {
    const { hostNats, log } = this.#components;
    if (hostNats === undefined) return;
    try {
      const rules = this.#options.services() === 'none' ? [] : await hostNats();
      const before = JSON.stringify(this.#taken);
      this.#taken = judgeNats(rules, this.#frontends(), this.#options.facts().nodePorts().addresses);
      if (JSON.stringify(this.#taken) === before) return;
      const problems = this.#taken.slice(0, namedServices).map(({ service, reason: why }) => `${service}: ${reasonText(why)}`);
      log.warn({ services: this.#taken.length, problems }, 'the Services that another program translates first changed');
      this.#options.onStatusChanged();
    } catch (error) {
      // The result of the last successful check stays valid.
      log.debug({ error }, 'the translations of other programs cannot be listed');
    }
  }

  async #checkFilters(): Promise<void> {
    const { hostFilters, clock, log } = this.#components;
    this.#filtersChecked = clock.now();
    try {
      const forwards = this.#options.services() !== 'none';
      const { passedPods } = this.#options.facts();
      const listed = await hostFilters();
      const isChanged = await this.#changeAllowances(planAllowances(listed, passedPods, forwards && this.#options.filters === 'allow'));
      const all = isChanged ? await hostFilters() : listed;
      const filters = all.filter(({ hook }) => forwards || hook === 'input');
      this.#blockedByFilters = blockedByFilters(filters, passedPods);
      this.#checkServiceFilters(forwards ? all : []);
      const reasons = [...judgeFilters(filters, this.#options.servedPorts(), passedPods), ...this.#serviceFilters.undecided()];
      this.#update(() => (this.#filters = reasons));
    } catch (error) {
      // The result of the last successful check stays valid.
      log.debug({ error }, 'the filters of other programs cannot be listed');
    }
  }

  *#frontends(): Iterable<readonly [ServiceKey, readonly FrontendMatch[]]> {
    for (const [service, { forwarding }] of this.#options.plans()) yield [service, forwarding.frontends.map(({ match }) => match)];
  }

  #checkServiceFilters(filters: readonly HostFilter[]): void {
    const { host, log } = this.#components;
    const facts = { interfaces: host.interfaces(), ...this.#options.facts() };
    const own = new Set(host.addresses());
    const entries = entriesOf(facts);
    const families = ([4, 6] as const).filter((family) => !this.#blockedByFilters.some((blocked) => blocked.family === family));
    const before = this.#serviceFilters.filtered();
    this.#serviceFilters.check(filters, this.#options.plans(), {
      node: this.#options.node,
      hasOthers: facts.hasOthers,
      entries,
      families,
      isOwn: (address) => own.has(formatAddress(address)),
      pods: facts.passedPods,
      text: JSON.stringify([facts.hasOthers, entries, families, [...own], facts.passedPods.map(formatPrefix)]),
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

  /** Corrects a setting that is wrong. Returns the reason if it is still wrong. */
  async #checkSetting(setting: KernelSetting, held: boolean): Promise<Reason | undefined> {
    const { host, log } = this.#components;
    const { path, wanted, why, mayBeSet } = setting;
    const before = await readSettings(host, setting.reads);
    const value = before.get(path);
    if (value === undefined || setting.holds((name) => before.get(name))) return undefined;
    let error = '';
    if (held) error = 'it is set only after the settings that it depends on';
    else if (mayBeSet && this.#options.kernelSettings === 'set') {
      const refused = await host.writeSetting(path, wanted);
      const after = await readSettings(host, setting.reads);
      if (setting.holds((name) => after.get(name))) {
        log.info({ setting: sysctlName(setting), before: value, value: wanted }, 'corrected a kernel setting');
        return undefined;
      }
      error = refused ?? 'the kernel kept its value';
    }
    return setting.judgedAs ?? reason('KernelSettingWrong', { setting: sysctlName(setting), value, wanted, why, error });
  }

  #update(change: () => void): void {
    const before = JSON.stringify(this.problems());
    change();
    const problems = this.problems();
    if (JSON.stringify(problems) === before) return;
    this.#components.log.warn({ problems: problems.map(({ code }) => code) }, 'the problems of the host changed');
    this.#options.onStatusChanged();
  }
}

/** Services that a line of the log names. */
const namedServices = 3;

function textOf(values: ReadonlyMap<string, string>): string {
  return JSON.stringify([...values]);
}
