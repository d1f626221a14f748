/**
 * `node --expose-gc read.ts MODE < credentials` reads all Services and EndpointSlices once in its own process, and prints the time and
 * memory it took.
 */
import { text } from 'node:stream/consumers';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import process from 'node:process';

const [mode = ''] = process.argv.slice(2);
const { server, certificateAuthority, token } = JSON.parse(await text(process.stdin)) as Record<string, string>;

const readers: Readonly<Record<string, () => Promise<() => Promise<number>>>> = {
  'herald, streamed': () => herald({ streamed: true }),
  'herald, streamed in JSON': () => herald({ streamed: true, json: true }),
  'herald, in pages': () => herald({ streamed: false }),
  informer,
};

/** Reads as an agent does: every kind, parsed into the model. */
async function herald({ streamed, json = false }: { readonly streamed: boolean; readonly json?: boolean }): Promise<() => Promise<number>> {
  const { KubeClient } = await import('../../../src/kube/client/client.ts');
  const { answerError } = await import('../../../src/kube/error.ts');
  const { KubernetesSource } = await import('../../../src/sources/kubernetes/kubernetes-source.ts');
  const { systemClock } = await import('../../../src/system/clock.ts');
  const { silentLog } = await import('../../../src/system/log.ts');
  const { systemRandom } = await import('../../../src/system/random.ts');
  const credentials = { ca: certificateAuthority ?? '', authorization: `Bearer ${token}` };
  const connection = { server: new URL(server ?? ''), credentials: async () => credentials, expired: () => undefined };
  const client = new KubeClient(connection, { clock: systemClock });
  const stream = client.stream.bind(client);
  client.stream = async (path, query, signal, accept) => {
    // This is the answer of a server without WatchList.
    if (!streamed && query['sendInitialEvents'] === true) throw answerError(422, '');
    return stream(path, query, signal, json ? 'application/json' : accept);
  };
  const source = new KubernetesSource({ client, clock: systemClock, random: systemRandom, log: silentLog }, { node: 'node1' });
  return async () => {
    await source.start();
    return source.snapshot.services.size;
  };
}

/** Reads with client-node's informers: the same two kinds, typed, without any consumer. */
async function informer(): Promise<() => Promise<number>> {
  const k8s = await import('@kubernetes/client-node');
  const config = new k8s.KubeConfig();
  config.loadFromClusterAndUser(
    { name: 'c', server: server ?? '', caData: Buffer.from(certificateAuthority ?? '').toString('base64'), skipTLSVerify: false },
    { name: 'u', token: token ?? '' },
  );
  const core = config.makeApiClient(k8s.CoreV1Api);
  const discovery = config.makeApiClient(k8s.DiscoveryV1Api);
  const services = k8s.makeInformer(config, '/api/v1/services', () => core.listServiceForAllNamespaces());
  const slices = k8s.makeInformer(config, '/apis/discovery.k8s.io/v1/endpointslices', () => discovery.listEndpointSliceForAllNamespaces());
  return async () => {
    await Promise.all([services.start(), slices.start()]);
    return services.list().length;
  };
}

const read = await readers[mode]?.();
if (read === undefined) throw new Error(`unknown mode ${mode}`);
const stalls = monitorEventLoopDelay({ resolution: 1 });
stalls.enable();
// The longest time that our own work delays a timer, whatever else the machine does: CPU time of this thread between two timers.
let longestWork = 0;
let last = threadMicroseconds();
const timer = setInterval(() => {
  const now = threadMicroseconds();
  longestWork = Math.max(longestWork, now - last);
  last = now;
}, 1);
const began = performance.now();
const cpu = process.cpuUsage();
const services = await read();
const milliseconds = performance.now() - began;
const { user, system } = process.cpuUsage(cpu);
stalls.disable();
clearInterval(timer);
const rss = process.memoryUsage().rss;
(globalThis as { gc?: () => void }).gc?.();
await new Promise((resolve) => setTimeout(resolve, 200));
const result = {
  services,
  milliseconds: Math.round(milliseconds),
  cpuMilliseconds: Math.round((user + system) / 1000),
  longestWorkMilliseconds: Math.round(longestWork / 1000),
  longestStallMilliseconds: Math.round(stalls.max / 1e6),
  rssMegabytes: Math.round(rss / 1e6),
  rssAfterMegabytes: Math.round(process.memoryUsage().rss / 1e6),
};
process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));

function threadMicroseconds(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}
