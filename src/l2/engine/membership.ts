import { addressBytes, formatAddress, type Address } from '../../net/address.ts';
import type { Clock } from '../../system/clock.ts';
import { Alarm, type Schedule } from '../../system/schedule.ts';
import { joinPause, joinRetryInterval, joinSlice } from '../limits.ts';
import type { Transport } from '../transport/transport.ts';
import { solicitedNodeGroup } from '../wire/multicast.ts';

interface Group {
  readonly group: Address;
  readonly interface: string;
  /** Addresses that need the group. */
  users: number;
  joined: boolean;
}

/**
 * The solicited-node groups of an interface: of every address for which this node is a candidate, so that a takeover does not wait for
 * MLD. Joining costs time that grows with the number of groups, so it is done in slices, between which frames are answered.
 */
export class Membership {
  readonly #clock: Clock;
  readonly #schedule: Schedule;
  readonly #transport: Transport;
  readonly #groups = new Map<string, Group>();
  #waiting: string[] = [];
  readonly #alarm = new Alarm(() => this.#join());
  readonly #problems = new Map<string, string>();

  constructor(clock: Clock, schedule: Schedule, transport: Transport) {
    this.#clock = clock;
    this.#schedule = schedule;
    this.#transport = transport;
  }

  add(networkInterface: string, address: Address): void {
    if (address.family === 4) return;
    const group = solicitedNodeGroup(address);
    const key = `${networkInterface} ${formatAddress(group)}`;
    const present = this.#groups.get(key);
    if (present !== undefined) return void present.users++;
    this.#groups.set(key, { group, interface: networkInterface, users: 1, joined: false });
    this.#wait(key);
  }

  remove(networkInterface: string, address: Address): void {
    if (address.family === 4) return;
    const key = `${networkInterface} ${formatAddress(solicitedNodeGroup(address))}`;
    const present = this.#groups.get(key);
    if (present === undefined || --present.users > 0) return;
    this.#groups.delete(key);
    if (present.joined) this.#transport.leave(networkInterface, addressBytes(present.group));
  }

  /** The kernel has forgotten the groups of the interface: it was made anew. */
  rejoin(networkInterface: string): void {
    for (const [key, group] of this.#groups) {
      if (group.interface !== networkInterface || !group.joined) continue;
      this.#transport.leave(networkInterface, addressBytes(group.group));
      group.joined = false;
      this.#wait(key);
    }
  }

  status(networkInterface: string): { readonly joined: number; readonly waiting: number; readonly problem?: string } {
    const groups = [...this.#groups.values()].filter((group) => group.interface === networkInterface);
    const joined = groups.filter((group) => group.joined).length;
    const problem = this.#problems.get(networkInterface);
    return { joined, waiting: groups.length - joined, ...(problem === undefined ? {} : { problem }) };
  }

  #wait(key: string): void {
    this.#waiting.push(key);
    if (this.#alarm.due === undefined) this.#schedule.setAlarm(this.#alarm, this.#clock.now());
  }

  #join(): void {
    const began = this.#clock.now();
    const refused: string[] = [];
    while (this.#waiting.length > 0 && this.#clock.now() - began < joinSlice) {
      const key = this.#waiting.pop() ?? '';
      const group = this.#groups.get(key);
      if (group === undefined || group.joined) continue;
      const problem = this.#transport.join(group.interface, addressBytes(group.group));
      group.joined = problem === undefined;
      if (problem === undefined) this.#problems.delete(group.interface);
      else {
        this.#problems.set(group.interface, problem);
        refused.push(key);
      }
    }
    const isSliceOver = this.#waiting.length > 0;
    this.#waiting.push(...refused);
    if (isSliceOver && refused.length === 0) this.#schedule.setAlarm(this.#alarm, this.#clock.now() + joinPause);
    else if (this.#waiting.length > 0) this.#schedule.setAlarm(this.#alarm, this.#clock.now() + joinRetryInterval);
  }
}
