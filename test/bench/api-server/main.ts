/** See `help`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { KubeClient } from '../../../src/kube/client/client.ts';
import { systemClock } from '../../../src/system/clock.ts';
import { KubernetesCluster } from '../../conformance/cluster.ts';
import { endTogether } from '../../lab/ends-together.ts';
import { Attempts } from '../runner/attempts.ts';
import { conditionLines, conditions } from '../runner/conditions.ts';
import { packages, programs } from '../runner/versions.ts';
import { eventSlice } from './event-slices.ts';

const modes = ['herald, streamed', 'herald, streamed in JSON', 'herald, in pages', 'informer'];
/** EndpointSlices whose events are measured. */
const eventSlices = 200;
const rounds = 5;
const atOnce = 16;
const slices = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';
const help = `npm run bench:api-server -- [options] [COUNT...]

  Measures the time to read COUNT Services and COUNT EndpointSlices (default 5000 10000) from a real kube-apiserver, the longest pause of
  the event loop meanwhile, and the memory: Herald's source beside client-node's informers, in the same run; and what one event of an
  EndpointSlice costs in protobuf and in JSON. Needs the programs of scripts/setup-conformance.sh.

  --json            for machines

  npm run bench:api-server -- 1000
  node test/bench/api-server/controller.ts --help     status writes, memory and restart of a controller`;

const { values, positionals } = parseArgs({
  options: { help: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } },
  allowPositionals: true,
});
if (values.help) {
  console.log(help);
  process.exit();
}
const counts = positionals.length > 0 ? positionals.map(Number) : [5000, 10_000];

type Result = Record<string, number>;

interface Line {
  readonly count: number;
  readonly mode: string;
  readonly load: number;
  readonly rounds: number;
  readonly figures: Result;
}

const lines: Line[] = [];
let events: Record<string, Result> | undefined;
const attempts = new Attempts((text) => void process.stderr.write(`${text}\n`));
endTogether();

// Children of the cluster do not keep this process alive.
const alive = setInterval(() => undefined, 1000);
const cluster = await KubernetesCluster.start();
try {
  let made = 0;
  for (const count of counts) {
    await make(made, count);
    made = count;
    const results = new Map<string, Result[]>(modes.map((mode) => [mode, []]));
    const [load = 0] = loadavg();
    // The modes take turns, so that a disturbance of the machine affects all of them.
    for (let round = 0; round < rounds; round++) {
      for (const mode of modes) {
        const result = await attempts.row(`${mode === 'informer' ? mode : `Herald: ${mode}`}, ${count} Services`, () =>
          run<Result>('read.ts', mode),
        );
        if (result !== undefined) results.get(mode)?.push(result);
      }
    }
    for (const [mode, all] of results) lines.push({ count, mode, load, rounds: all.length, figures: median(all) });
  }
  await makeAll(Array.from({ length: eventSlices }, (_, index) => [{ path: slices, body: eventSlice(index) }]));
  events = await attempts.row('Herald: one event of an EndpointSlice', () => run<Record<string, Result>>('events.ts'));
} finally {
  await cluster.stop();
  clearInterval(alive);
}
const under = conditions({ ...programs('kube-apiserver', 'etcd'), ...packages('@kubernetes/client-node') });
if (values.json) console.log(JSON.stringify({ conditions: under, lines, events, failed: attempts.failed }));
else {
  console.log([conditionLines(under), ...attempts.lines()].join('\n'));
  console.table(Object.fromEntries(lines.map(({ mode, count, load, figures }) => [`${mode} ${count} + ${count}`, { load, ...figures }])));
  console.table(events);
}
process.exit(attempts.status);

async function make(from: number, to: number): Promise<void> {
  const indexes = Array.from({ length: to - from }, (_, index) => from + index);
  await makeAll(
    indexes.map((index) => [
      { path: '/api/v1/namespaces/default/services', body: serviceOf(index) },
      { path: slices, body: sliceOf(index) },
    ]),
  );
}

/** Makes objects, those of one element one after the other. */
async function makeAll(all: readonly (readonly { readonly path: string; readonly body: object }[])[]): Promise<void> {
  // Connections are kept: a handshake for each of thousands of objects would take minutes.
  const { server, certificateAuthority: ca, token } = cluster.admin;
  const credentials = async () => ({ ca, authorization: `Bearer ${token}` });
  const client = new KubeClient({ server: new URL(server), credentials, expired: () => undefined }, { clock: systemClock });
  const left = all.values();
  const work = async (): Promise<void> => {
    for (const objects of left) for (const object of objects) await client.write({ method: 'POST', ...object });
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  client.close();
}

function serviceOf(index: number): object {
  return {
    metadata: { name: `svc-${index}`, labels: { app: `app-${index}`, team: `team-${index % 50}` } },
    spec: { selector: { app: `app-${index}` }, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
  };
}

function sliceOf(index: number): object {
  const endpoint = (n: number): object => ({
    addresses: [`10.${(index >> 8) & 255}.${index & 255}.${n + 1}`],
    conditions: { ready: true, serving: true, terminating: false },
    nodeName: `node-${n}`,
    targetRef: {
      kind: 'Pod',
      namespace: 'default',
      name: `app-${index}-${n}`,
      uid: `0f5fc2a0-0000-4000-8000-${String(index).padStart(12, '0')}`,
    },
  });
  return {
    metadata: { name: `svc-${index}-abcde`, labels: { 'kubernetes.io/service-name': `svc-${index}` } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints: [0, 1, 2, 3].map(endpoint),
  };
}

/** Runs a program of this folder with the credentials, and returns what it prints. */
async function run<T>(program: string, ...words: readonly string[]): Promise<T> {
  const child = spawn(process.execPath, ['--expose-gc', join(import.meta.dirname, program), ...words], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(JSON.stringify(cluster.admin));
  const [answer] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  return JSON.parse(answer) as T;
}

function median(results: readonly Result[]): Result {
  const names = Object.keys(results[0] ?? {});
  return Object.fromEntries(
    names.map((name) => [name, results.map((result) => result[name] ?? 0).toSorted((a, b) => a - b)[Math.floor(results.length / 2)] ?? 0]),
  );
}
