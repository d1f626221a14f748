import { loadavg } from 'node:os';
import { sleep, systemClock } from '../../../src/system/clock.ts';
import { peakMemory, processorSeconds } from '../../../test/bench/runner/process-figures.ts';
import type { Contender } from './contenders/contender.ts';
import type { Throttle } from './requests.ts';
import type { ServiceForm, Stage } from './stage.ts';

/** Services that are created at once, and one more while they are in progress if `late`. */
export interface Size {
  readonly services: number;
  readonly late: boolean;
}

/** Times in seconds. */
export interface Result extends Size {
  readonly contender: string;
  readonly throttled: boolean;
  /** Host names that were published within the limit, and the times of the first, the middle and the last. */
  readonly published: number;
  readonly first: number;
  readonly median: number;
  readonly last: number;
  /** From the creation of the late Service to its host name. */
  readonly lateTime: number;
  /** Each Service's share of all requests, also those after the last host name, and the requests until then by action. */
  readonly perService: number;
  readonly byAction: Readonly<Record<string, number>>;
  readonly refused: number;
  /** Requests in `idleSeconds` after the last host name. */
  readonly idle: number;
  readonly idleByAction: Readonly<Record<string, number>>;
  readonly peakMegabytes: number;
  /** CPU time of the controller from the creation of the Services to the end of the idle time. */
  readonly cpu: number;
  /** CPU time of moto per second until the last host name. moto uses one processor at most. */
  readonly motoBusy: number;
  readonly load: number;
}

/** AWS fills the bucket of an action slowly: about ten requests per second are what it allows for long. */
const throttle: Throttle = { perSecond: 10, burst: 20 };
interface Run {
  readonly contender: Contender;
  readonly size: Size;
  readonly throttled: boolean;
  readonly limitSeconds: number;
  readonly idleSeconds: number;
  readonly stopped: AbortSignal;
}

/** Creates so many Services in a new account, and watches the controller until all have a host name. */
export async function measure(stage: Stage, { contender, size, throttled, limitSeconds, idleSeconds, stopped }: Run): Promise<Result> {
  await stage.reset();
  const load = loadavg()[0] ?? Number.NaN;
  await using cleanup = new AsyncDisposableStack();
  const controller = await contender.start(stage.surroundings);
  cleanup.defer(async () => void (await controller.stop()));
  stage.requests.restart(throttled ? throttle : undefined);
  const cpuBefore = processorSeconds(controller.pid);
  const motoBefore = processorSeconds(stage.moto.pid);
  const began = performance.now();
  const passed = (): number => (performance.now() - began) / 1000;
  const times = new Map<string, number>();
  await stage.create(forms(size.services));
  let lateCreated = size.late ? undefined : Number.NaN;
  const wanted = size.services + (size.late ? 1 : 0);
  while (!stopped.aborted && times.size < wanted && passed() < limitSeconds) {
    // The late Service comes when half of the others have their load balancers.
    if (lateCreated === undefined && stage.requests.count('elasticloadbalancing CreateLoadBalancer') >= size.services / 2) {
      lateCreated = passed();
      await stage.create([{ name: lateName }]);
    }
    for (const name of await stage.published()) if (!times.has(name)) times.set(name, passed());
    await sleep(systemClock, 100);
  }
  const motoBusy = (processorSeconds(stage.moto.pid) - motoBefore) / passed();
  const { byAction, refused } = stage.requests.take();
  for (let second = 0; second < idleSeconds && !stopped.aborted; second++) await sleep(systemClock, 1000);
  stopped.throwIfAborted();
  const { byAction: idleByAction } = stage.requests.take();
  const lateTime = (times.get(lateName) ?? Number.NaN) - (lateCreated ?? Number.NaN);
  times.delete(lateName);
  const sorted = [...times.values()];
  return {
    ...size,
    contender: contender.name,
    throttled,
    published: sorted.length,
    first: sorted[0] ?? Number.NaN,
    median: sorted[Math.floor(sorted.length / 2)] ?? Number.NaN,
    last: sorted.at(-1) ?? Number.NaN,
    lateTime,
    perService: (sum(byAction) + sum(idleByAction)) / wanted,
    byAction,
    refused,
    idle: sum(idleByAction),
    idleByAction,
    peakMegabytes: peakMemory(controller.pid),
    cpu: processorSeconds(controller.pid) - cpuBefore,
    motoBusy,
    load,
  };
}

const lateName = 'late';

function forms(count: number): ServiceForm[] {
  return Array.from({ length: count }, (_, index) => ({ name: `web-${index}` }));
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}
