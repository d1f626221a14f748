import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { childrenSeconds, processorTime, residentMemory } from '../runner/process-figures.ts';
import { configuration, servicesWithEndpoints } from './objects.ts';
import { Stage, type SourceName } from './stage.ts';

/** An agent with 20 Services of six endpoints while nothing changes. */
interface Rest {
  readonly source: SourceName;
  /** The part of a core, in percent. */
  readonly processor: number;
  /** That of the programs that it runs. */
  readonly children: number;
  readonly wakeupsPerSecond: number;
  /** Resident, and of it what no file backs, in MB (10^6 octets). */
  readonly memory: number;
  readonly anonymous: number;
}

const services = 20;
/** Time after the start in which the agent still works. */
const settleMilliseconds = 15_000;

export async function measureRest(source: SourceName, seconds: number): Promise<Rest> {
  const stage = await Stage.start(source);
  try {
    await stage.put('configuration', ...configuration());
    await stage.put('services', ...servicesWithEndpoints(0, services));
    const agent = stage.startAgent();
    await agent.waitForLine(/agent started/);
    await sleep(settleMilliseconds);
    const figures = () => ({
      at: performance.now(),
      own: processorTime(agent.pid),
      children: childrenSeconds(agent.pid) * 1000,
      wakeups: wakeups(agent.pid),
    });
    const before = figures();
    await sleep(seconds * 1000);
    const after = figures();
    const took = after.at - before.at;
    const rounded = (value: number): number => Number(value.toPrecision(3));
    const anonymous = Number(/^Anonymous:\s+(\d+)/m.exec(readFileSync(`/proc/${agent.pid}/smaps_rollup`, 'utf8'))?.[1]) * 1024;
    return {
      source,
      processor: rounded((100 * (after.own - before.own)) / took),
      children: rounded((100 * (after.children - before.children)) / took),
      wakeupsPerSecond: rounded((1000 * (after.wakeups - before.wakeups)) / took),
      memory: rounded(residentMemory(agent.pid)),
      anonymous: rounded(anonymous / 1e6),
    };
  } finally {
    await stage.stop();
  }
}

/** Returns how often the threads of a process have waited for something. */
function wakeups(pid: number): number {
  return readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => {
    const text = readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8');
    return sum + Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(text)?.[1] ?? 0);
  }, 0);
}
