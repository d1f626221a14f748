import { processorSeconds } from '../runner/process-figures.ts';
import { configuration, servicesWithEndpoints } from './objects.ts';
import { untilRoutes } from './routes.ts';
import { Stage } from './stage.ts';

/** Milliseconds after the start of the new process. `processor` is its processor time until FRR has all routes again. */
interface Restart {
  readonly withdrawn: number;
  readonly kernelOpened: number;
  readonly started: number;
  readonly established: number;
  readonly back: number;
  readonly processor: number;
}

/** Kills the agent and starts it at once, without graceful restart. */
export async function measureRestart(services: number, times: number): Promise<readonly Restart[]> {
  const stage = await Stage.start('directory');
  try {
    await stage.put('configuration', ...configuration());
    await stage.put('services', ...servicesWithEndpoints(0, services));
    let agent = stage.startAgent();
    const vty = await stage.vty();
    const rows: Restart[] = [];
    for (let time = 0; time < times; time++) {
      await untilRoutes(vty, services);
      agent.kill('SIGKILL');
      await agent.exited;
      const start = Date.now();
      const since = (): number => Date.now() - start;
      agent = stage.startAgent();
      await untilRoutes(vty, 0);
      const withdrawn = since();
      await untilRoutes(vty, services);
      const [back, processor] = [since(), 1000 * processorSeconds(agent.pid)];
      const lines = agent
        .lines()
        .map((line) => JSON.parse(line) as { readonly time: string; readonly msg: string; readonly peer?: string });
      const at = (message: string): number => {
        const line = lines.find(({ msg, peer }) => msg === message && (peer === undefined || peer === 'router-v4'));
        return line === undefined ? Number.NaN : Date.parse(line.time) - start;
      };
      const [kernelOpened, started] = [at('nftables is driven'), at('agent started')];
      rows.push({ withdrawn, kernelOpened, started, established: at('session established'), back, processor });
    }
    vty.close();
    return rows;
  } finally {
    await stage.stop();
  }
}
