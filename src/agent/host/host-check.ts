import type { BlockedFamily } from '../../decisions/host/blocked-by-settings.ts';
import { connectionTablePaths, judgeConnectionTable } from '../../decisions/host/connection-table.ts';
import { judgeNats } from '../../decisions/host/foreign-nat.ts';
import { servedElsewhere } from '../../decisions/host/node-interfaces.ts';
import { judgeListeners, judgeOwnAddresses } from '../../decisions/host/node-port-listeners.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { reason, reasonText, type Reason } from '../../model/reasons.ts';
import type { ServicesScope } from '../../model/kinds/types.ts';
import type { Family } from '../../net/address.ts';
import type { DroppingInterface } from '../../net/endpoint-way.ts';
import type { FrontendMatch } from '../../net/frontend.ts';
import type { HostNatRule } from '../../net/host-nat.ts';
import type { Cancel } from '../../system/clock.ts';
import { readSettings } from '../host-readings.ts';
import { limits } from '../limits.ts';
import { FilterCheck, type FilterCheckComponents, type FilterCheckOptions } from './filter-check.ts';
import { HostSettings, type HostSettingsOptions } from './host-settings.ts';

export interface HostCheckComponents extends FilterCheckComponents {
  /** Rejects if the rules cannot be listed. Absent: no other program translates packets before Herald. */
  readonly hostNats?: () => Promise<readonly HostNatRule[]>;
  /** NodePorts that should be served on localhost and are not. Absent: there are none. */
  readonly unservedLocalhost?: () => readonly { readonly port: number; readonly family: Family; readonly why: string }[];
  /** Calls `changed` when the kernel reports a change of a setting or an address. Absent: changes are found at intervals. */
  readonly followSettings?: (changed: () => void) => Cancel;
}

interface HostCheckOptions extends FilterCheckOptions, HostSettingsOptions {
  /** Finds what in the networks of the node keeps packets from pods or from clients. Rejects if the kernel does not answer. */
  readonly networks: () => Promise<readonly Reason[]>;
  /** Called when the result of `dropping` changed. */
  readonly onDroppingChanged: () => void;
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
  readonly #settings: HostSettings;
  readonly #filters: FilterCheck;
  #listeners: readonly Reason[] = [];
  #connections: readonly Reason[] = [];
  #networks: readonly Reason[] = [];
  #taken: ReturnType<typeof judgeNats> = [];
  #settingsCompared = Number.NEGATIVE_INFINITY;
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
    this.#settings = new HostSettings(components, options);
    this.#filters = new FilterCheck(components, options, (change) => this.#update(change));
  }

  problems(): Reason[] {
    const unserved = this.#components.unservedLocalhost?.() ?? [];
    const localhost = unserved.map(({ family, port, why }) => reason('LocalhostNodePortNotServed', { port, family: `IPv${family}`, why }));
    return [
      ...this.#settings.problems,
      ...this.#filters.problems(),
      ...this.#listeners,
      ...this.#connections,
      ...this.#networks,
      ...localhost,
    ];
  }

  /** Returns the families that the host certainly does not forward, each with one problem that prevents it or several. */
  blocked(): readonly BlockedFamily[] {
    return [...this.#settings.blocked, ...this.#filters.blocked()];
  }

  /** Returns the interfaces that certainly drop the answers of the endpoints to which they lead. */
  dropping(): readonly DroppingInterface[] {
    return this.#settings.dropping;
  }

  /** Returns the Services whose packets another program may translate before Herald does. */
  taken(): ReturnType<typeof judgeNats> {
    return this.#taken;
  }

  /** When a rule of another program came that could not be judged, in milliseconds of the clock. */
  get doubtfulSince(): number {
    return this.#filters.doubtfulSince;
  }

  /** Returns the Services whose packets a filter of another program certainly drops. */
  filtered(): ReturnType<FilterCheck['filtered']> {
    return this.#filters.filtered();
  }

  /** Checks whether the host forwards, before anything is forwarded or announced. */
  async checkForwarding(): Promise<void> {
    await this.checkSettings();
    await this.#filters.check();
    this.#options.onForwardingChecked();
  }

  /** Checks the kernel settings. Called before anything is forwarded or announced. */
  async checkSettings(): Promise<void> {
    const before = [JSON.stringify(this.problems()), JSON.stringify(this.#settings.dropping)];
    await this.#settings.check();
    if (JSON.stringify(this.#settings.dropping) !== before[1]) this.#options.onDroppingChanged();
    this.#tellProblems(before[0] ?? '');
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
    await this.#filters.check();
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
    this.#settings.interfacesTouched();
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
    if (!(await this.#settings.haveChanged())) return false;
    await this.checkSettings();
    return true;
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
    if (this.#settings.haveInterfacesChanged()) await this.checkSettings();
    else await this.#checkChangedSettings();
    if (this.#filters.isDue()) {
      await this.#filters.check();
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

  *#frontends(): Iterable<readonly [ServiceKey, readonly FrontendMatch[]]> {
    for (const [service, { forwarding }] of this.#options.plans()) yield [service, forwarding.frontends.map(({ match }) => match)];
  }

  #update(change: () => void): void {
    const before = JSON.stringify(this.problems());
    change();
    this.#tellProblems(before);
  }

  #tellProblems(before: string): void {
    const problems = this.problems();
    if (JSON.stringify(problems) === before) return;
    this.#components.log.warn({ problems: problems.map(({ code }) => code) }, 'the problems of the host changed');
    this.#options.onStatusChanged();
  }
}

/** Services that a line of the log names. */
const namedServices = 3;
