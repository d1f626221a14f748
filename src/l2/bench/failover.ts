import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { vip, vip6 } from '../../../test/lab/l2-agents/agents-on-segment.ts';
import { wallTime } from '../../../test/lab/l2-agents/watch.ts';
import type { Contender } from './contenders/contender.ts';
import type { Fault } from './faults.ts';
import { Stream } from './stream.ts';

/** The times, in milliseconds, until another node answered. */
export interface Failover {
  readonly contender: string;
  readonly fault: string;
  /** In ascending order. One for each address that the node had. */
  readonly times: readonly number[];
  /** Addresses for which no other node answered in time. */
  readonly never: number;
  /** Load average at the end. */
  readonly load: number;
}

const addresses = [vip, vip6] as const;
const longest = 30_000;

export const streamTo = ({ lab }: Contender): Stream => new Stream(lab.segment.host(lab.clientHost), addresses);

/** Hits the owner with the fault, again and again: first that of the IPv4 address, then that of the IPv6 address. */
export async function measureFailover(contender: Contender, stream: Stream, fault: Fault, runs: number): Promise<Failover> {
  const times: number[] = [];
  let never = 0;
  for (let run = 0; run < runs; run++) {
    const owners = await stream.untilSettled();
    const target = owners[run % owners.length] ?? 0;
    // The fault falls at any moment between two signs of life.
    await sleep(1_000 * Math.random());
    const began = wallTime();
    fault.apply(contender, target);
    for (const [index, address] of addresses.entries()) {
      if (owners[index] !== target) continue;
      const time = await stream.untilOther(address, target, began, longest);
      if (time === undefined) never++;
      else times.push(time);
    }
    await fault.repair(contender, target);
    // MetalLB's speakers look for each other once a minute.
    await stream.untilOwners(owners, 1_500, 120_000);
  }
  return { contender: contender.name, fault: fault.name, times: times.sort((a, b) => a - b), never, load: loadavg()[0] ?? Number.NaN };
}
