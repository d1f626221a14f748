import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { DirectoryFixture } from '../../aws/directory-fixture.ts';
import { sleep, systemClock } from '../../../src/system/clock.ts';
import { Requests, type Throttle } from './requests.ts';

/** Times in seconds. */
export interface Result {
  readonly services: number;
  readonly throttled: boolean;
  /** Host names that were published within the limit, and the times of the first, the middle and the last. */
  readonly published: number;
  readonly first: number;
  readonly median: number;
  readonly last: number;
  /** Requests until the last host name: each Service's share, and all by action. */
  readonly perService: number;
  readonly byAction: Readonly<Record<string, number>>;
  readonly refused: number;
  /** Requests in `idleSeconds` after the last host name. */
  readonly idle: number;
  readonly idleByAction: Readonly<Record<string, number>>;
  readonly peakMegabytes: number;
  /** CPU time of the controller from the creation of the Services to the end of the idle time. */
  readonly cpu: number;
  readonly load: number;
}

/** AWS fills the bucket of an action slowly: about ten requests per second are what it allows for long. */
const throttle: Throttle = { perSecond: 10, burst: 20 };
export const idleSeconds = 10;

/** Creates so many Services at once in a new account, and watches Herald until all have a host name. */
export async function measure(services: number, isThrottled: boolean, limitSeconds: number, stopped: AbortSignal): Promise<Result> {
  const load = loadavg()[0] ?? Number.NaN;
  await using cleanup = new AsyncDisposableStack();
  const fixture = await DirectoryFixture.start();
  cleanup.defer(() => fixture.stop());
  const requests = cleanup.use(await Requests.start(fixture.moto.endpoint, isThrottled ? throttle : undefined));
  const pid = await fixture.startController({ endpoint: requests.endpoint });
  const cpuBefore = cpuSeconds(pid);
  const indexes = Array.from({ length: services }, (_, index) => index);
  const began = performance.now();
  const written = indexes.map((index) => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: `web-${index}`, namespace: 'default' },
    spec: {
      type: 'LoadBalancer',
      loadBalancerClass: 'herald.dev/aws',
      clusterIP: `10.96.${1 + Math.floor(index / 250)}.${1 + (index % 250)}`,
      ports: [{ port: 80, nodePort: 30_000 + index }],
    },
  }));
  fixture.write('services.yaml', written);
  const waiting = new Set(indexes);
  const times: number[] = [];
  while (!stopped.aborted && waiting.size > 0 && performance.now() - began < limitSeconds * 1000) {
    for (const index of waiting) {
      if (!hasHostname(fixture, index)) continue;
      waiting.delete(index);
      times.push((performance.now() - began) / 1000);
    }
    await sleep(systemClock, 100);
  }
  const { byAction, refused } = requests.take();
  for (let second = 0; second < idleSeconds && !stopped.aborted; second++) await sleep(systemClock, 1000);
  stopped.throwIfAborted();
  const { byAction: idleByAction } = requests.take();
  return {
    services,
    throttled: isThrottled,
    published: times.length,
    first: times[0] ?? Number.NaN,
    median: times[Math.floor(times.length / 2)] ?? Number.NaN,
    last: times.at(-1) ?? Number.NaN,
    perService: sum(byAction) / services,
    byAction,
    refused,
    idle: sum(idleByAction),
    idleByAction,
    peakMegabytes: peakMegabytes(pid),
    cpu: cpuSeconds(pid) - cpuBefore,
    load,
  };
}

function hasHostname(fixture: DirectoryFixture, index: number): boolean {
  try {
    return fixture.hostname(`default/web-${index}`) !== '';
  } catch {
    // The status is not written yet.
    return false;
  }
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}

/** The clock of /proc has 100 ticks per second. */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

function peakMegabytes(pid: number): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1000;
}
