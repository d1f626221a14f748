import { setTimeout as sleep } from 'node:timers/promises';
import { peakMemory, processorSeconds, residentMemory } from '../runner/process-figures.ts';
import { configuration, servicesWithEndpoints } from './objects.ts';
import { untilRoutes } from './routes.ts';
import { Stage } from './stage.ts';

/** One cycle: Services are created, FRR gets their routes, and they are deleted. Memory is resident, in MB (10^6 octets). */
interface Cycle {
  readonly cycle: number | 'after';
  /** Seconds of processor time in the cycle. */
  readonly processor: number;
  readonly memory: number;
  readonly peak: number;
}

/** Services that stay. */
const kept = 5;
const restSeconds = 60;

/** Memory is bounded if the peak of late cycles is not above that of earlier ones. */
export async function measureChurn(cycles: number, services: number): Promise<readonly Cycle[]> {
  const stage = await Stage.start('directory');
  try {
    await stage.put('configuration', ...configuration());
    await stage.put('kept', ...servicesWithEndpoints(0, kept));
    const agent = stage.startAgent();
    await agent.waitForLine(/agent started/);
    const vty = await stage.vty();
    await untilRoutes(vty, kept);
    const many = servicesWithEndpoints(kept, services);
    const rows: Cycle[] = [];
    let before = processorSeconds(agent.pid);
    const row = (cycle: Cycle['cycle']): void => {
      const now = processorSeconds(agent.pid);
      const memory = Math.round(residentMemory(agent.pid));
      rows.push({ cycle, processor: Number((now - before).toFixed(2)), memory, peak: Math.round(peakMemory(agent.pid)) });
      before = now;
    };
    row(0);
    for (let cycle = 1; cycle <= cycles; cycle++) {
      await stage.put('many', ...many);
      await untilRoutes(vty, kept + services);
      await stage.delete('many', ...many);
      await untilRoutes(vty, kept);
      row(cycle);
    }
    await sleep(restSeconds * 1000);
    row('after');
    vty.close();
    return rows;
  } finally {
    await stage.stop();
  }
}
