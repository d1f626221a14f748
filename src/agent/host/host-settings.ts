import { type BlockedFamily, blockedBySettings, forwardingPaths } from '../../decisions/host/blocked-by-settings.ts';
import { sysctlName, type KernelSetting } from '../../decisions/host/kernel-setting.ts';
import { droppingAnswers, requiredSettings, uplinksOf } from '../../decisions/host/required-settings.ts';
import type { ServicesScope } from '../../model/kinds/types.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { DroppingInterface } from '../../net/endpoint-way.ts';
import type { Cancel } from '../../system/clock.ts';
import type { Host } from '../../system/host.ts';
import type { Log } from '../../system/log.ts';
import { readSettings } from '../host-readings.ts';
import { limits } from '../limits.ts';
import type { ObjectFacts } from './host-facts.ts';

interface HostSettingsComponents {
  readonly host: Host;
  readonly log: Log;
  /** Absent: no change of an interface is reported. */
  readonly followSettings?: (changed: () => void) => Cancel;
}

export interface HostSettingsOptions {
  /** `set`: the check corrects kernel settings. `report`: it only reports them. */
  readonly kernelSettings: 'set' | 'report';
  readonly facts: () => ObjectFacts;
  /** Where Herald forwards nothing, the check leaves the host to the program that forwards. */
  readonly services: () => ServicesScope;
  /** The interfaces by which packets for IPv4 endpoints leave, in the order of their need. */
  readonly endpointInterfaces: () => readonly string[];
}

/** The kernel settings that forwarding needs: their values at the last check, and what follows from those that are wrong. */
export class HostSettings {
  readonly #components: HostSettingsComponents;
  readonly #options: HostSettingsOptions;
  #problems: readonly Reason[] = [];
  #blocked: readonly BlockedFamily[] = [];
  #dropping: readonly DroppingInterface[] = [];
  /** The settings that the last check read, their values after it, and the interfaces that it saw, as text. */
  #read: readonly string[] = [];
  #values = '';
  #interfaces = '';
  #endpointInterfaces = '';
  /** The kernel has reported a change since the interfaces were last read: reading hundreds takes some milliseconds. */
  #interfacesTouched = true;

  constructor(components: HostSettingsComponents, options: HostSettingsOptions) {
    this.#components = components;
    this.#options = options;
  }

  get problems(): readonly Reason[] {
    return this.#problems;
  }

  /** The families that the host certainly does not forward because of settings. */
  get blocked(): readonly BlockedFamily[] {
    return this.#blocked;
  }

  /** The interfaces that certainly drop the answers of the endpoints to which they lead. */
  get dropping(): readonly DroppingInterface[] {
    return this.#dropping;
  }

  /** Called when the kernel reports that an interface or a setting has changed. */
  interfacesTouched(): void {
    this.#interfacesTouched = true;
  }

  /** Checks all settings, and corrects those that it may. */
  async check(): Promise<void> {
    const { host } = this.#components;
    if (this.#options.services() === 'none') {
      [this.#problems, this.#blocked, this.#dropping] = [[], [], []];
      return;
    }
    this.#interfacesTouched = this.#components.followSettings === undefined;
    const interfaces = host.interfaces();
    const advertisedDefault = await host.interfacesWithAdvertisedDefault();
    const facts = this.#options.facts();
    const uplinks = uplinksOf({ interfaces, ...facts }).slice(0, limits.hostSettings);
    const endpointInterfaces = this.#options.endpointInterfaces().slice(0, limits.hostSettings);
    const known = { cores: host.cores(), interfaces, advertisedDefault, endpointInterfaces, ...facts };
    const required = requiredSettings(known).slice(0, limits.hostSettings);
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
    this.#endpointInterfaces = endpointInterfaces.join();
    this.#dropping = droppingAnswers(endpointInterfaces, uplinks, wrong);
    this.#blocked = blockedBySettings((path) => values.get(path), uplinks, wrong);
    this.#problems = reasons;
  }

  /** True when a setting has another value than after the last check. */
  async haveChanged(): Promise<boolean> {
    return this.#options.services() !== 'none' && textOf(await readSettings(this.#components.host, this.#read)) !== this.#values;
  }

  /** A new interface or address may make an uplink, whose settings no check has read. */
  haveInterfacesChanged(): boolean {
    if (this.#options.services() === 'none') return false;
    if (this.#options.endpointInterfaces().slice(0, limits.hostSettings).join() !== this.#endpointInterfaces) return true;
    if (!this.#interfacesTouched) return false;
    this.#interfacesTouched = this.#components.followSettings === undefined;
    return JSON.stringify(this.#components.host.interfaces()) !== this.#interfaces;
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
}

function textOf(values: ReadonlyMap<string, string>): string {
  return JSON.stringify([...values]);
}
