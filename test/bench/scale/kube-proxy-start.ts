import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../lab/until.ts';
import { peakMemory } from '../runner/process-figures.ts';
import { timeNow } from './addresses.ts';
import { lastSyncOfKubeProxy, secondsOf } from './probe.ts';
import type { KubeProxyStart } from './results.ts';
import type { Stage } from './stage.ts';

/** kube-proxy's first sync of 50,000 Services takes minutes. */
const patience = 300_000;
const lookMilliseconds = 500;

/**
 * Starts kube-proxy on a node and resolves when its first rules are in the kernel. It resolves to undefined and ends kube-proxy when that
 * fails: it costs only its own rows, and no processor time of the phases that follow.
 */
export async function kubeProxyOn(
  stage: Stage,
  index: number,
  note: (text: string) => void,
): Promise<{ readonly pid: number; readonly start: KubeProxyStart } | undefined> {
  const began = timeNow();
  try {
    const { process: running } = await stage.startKubeProxy(index);
    await until(
      'kube-proxy has its first rules in the kernel',
      async () => {
        // Each look starts a program.
        await sleep(lookMilliseconds);
        return !running.running || (await lastSyncOfKubeProxy(`node${index}`)) > 0;
      },
      patience,
    );
    if (!running.running) throw new Error(`kube-proxy has ended: ${running.lines().slice(-5).join('\n')}`);
    const { pid } = running;
    const start = { seconds: (timeNow() - began) / 1000, cpuSeconds: secondsOf(pid), peakMegabytes: peakMemory(pid) };
    note(`kube-proxy has its first rules in the kernel after ${start.seconds.toFixed(1)} s`);
    return { pid, start };
  } catch (error) {
    note(`kube-proxy: not measured: ${error instanceof Error ? error.message : String(error)}`);
    await stage.stopKubeProxy();
    return undefined;
  }
}
