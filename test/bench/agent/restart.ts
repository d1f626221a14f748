import type { LabProcess } from '../../lab/lab-process.ts';
import { processorSeconds } from '../runner/process-figures.ts';
import { prepareMetalLB, startSpeaker } from './metallb.ts';
import { configuration, servicesWithEndpoints } from './objects.ts';
import { untilRoutes } from './routes.ts';
import { Stage, type SourceName } from './stage.ts';

/** Milliseconds after the start of the new process. `processor` is its processor time until FRR has all routes again. */
interface Restart {
  readonly program: string;
  readonly source: SourceName;
  readonly withdrawn: number;
  /** Only Herald: when it is about to read the rules, and when it has started and has sessions. */
  readonly kernelOpened?: number;
  readonly started?: number;
  readonly established?: number;
  readonly back: number;
  readonly processor: number;
}

/** Kills Herald's agent and starts it at once, without graceful restart. */
export async function measureRestart(source: SourceName, services: number, times: number): Promise<readonly Restart[]> {
  return measure('Herald', source, services, times, (stage) => stage.startAgent(), progressOf);
}

/** The same with MetalLB's speaker, which reads an API server. */
export async function measureSpeakerRestart(services: number, times: number): Promise<readonly Restart[]> {
  return measure("MetalLB's speaker", 'API server', services, times, startSpeaker, () => ({}), prepareMetalLB);
}

async function measure(
  program: string,
  source: SourceName,
  services: number,
  times: number,
  startProgram: (stage: Stage) => LabProcess,
  progress: (process: LabProcess, start: number) => Partial<Restart>,
  prepare: (stage: Stage) => Promise<void> = () => Promise.resolve(),
): Promise<readonly Restart[]> {
  const stage = await Stage.start(source);
  try {
    await prepare(stage);
    await stage.put('configuration', ...configuration());
    await stage.put('services', ...servicesWithEndpoints(0, services));
    let running = startProgram(stage);
    const vty = await stage.vty();
    const untilAll = (wanted: number): Promise<void> =>
      Promise.race([
        untilRoutes(vty, wanted),
        running.exited.then(() => Promise.reject(new Error(`${program} ended: ${running.lines().at(-1)}`))),
      ]);
    const rows: Restart[] = [];
    for (let time = 0; time < times; time++) {
      await untilAll(services);
      running.kill('SIGKILL');
      await running.exited;
      const start = Date.now();
      const since = (): number => Date.now() - start;
      running = startProgram(stage);
      await untilAll(0);
      const withdrawn = since();
      await untilAll(services);
      const [back, processor] = [since(), 1000 * processorSeconds(running.pid)];
      rows.push({ program, source, withdrawn, ...progress(running, start), back, processor });
    }
    vty.close();
    return rows;
  } finally {
    await stage.stop();
  }
}

/** Reads in the agent's log how far it came and when. */
function progressOf(agent: LabProcess, start: number): Partial<Restart> {
  const lines = agent.lines().map((line) => JSON.parse(line) as { readonly time: string; readonly msg: string; readonly peer?: string });
  const at = (message: string): number => {
    const line = lines.find(({ msg, peer }) => msg === message && (peer === undefined || peer === 'router-v4'));
    return line === undefined ? Number.NaN : Date.parse(line.time) - start;
  };
  return { kernelOpened: at('nftables is driven'), started: at('agent started'), established: at('session established') };
}
