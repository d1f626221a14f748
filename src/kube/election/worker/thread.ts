import assert from 'node:assert';
import { parentPort, workerData } from 'node:worker_threads';
import { defined } from '../../../lang/defined.ts';
import { systemClock } from '../../../system/clock.ts';
import type { Log } from '../../../system/log.ts';
import { systemRandom } from '../../../system/random.ts';
import { KubeClient } from '../../client/client.ts';
import type { Connection, Credentials } from '../../client/connection.ts';
import { KubeError } from '../../error.ts';
import { limits } from '../../limits.ts';
import { Election } from '../election.ts';
import { Fence } from '../fence.ts';
import { leaseWatch } from '../watch-lease.ts';
import type { ElectionThreadOptions, FromElection, LogLevel, ToElection } from './messages.ts';

/** The program of the thread that acquires and renews the Lease, so that a busy main thread does not lose it. */
assert(parentPort !== null, 'this is the program of a worker thread');
const port = parentPort;
const { lease, identity, timing, server, whenUnreachable, userAgent, fence: memory } = workerData as ElectionThreadOptions;
const send = (message: FromElection): void => port.postMessage(message);

const logAs =
  (level: LogLevel) =>
  (fields: object, message: string): void =>
    send({ type: 'log', level, fields, message });
const log: Log = { debug: logAs('debug'), info: logAs('info'), warn: logAs('warn'), error: logAs('error') };

const first = Promise.withResolvers<void>();
let latest: () => Credentials = () => {
  throw new KubeError('credentials', 'the main thread has sent no credentials');
};
const connection: Connection = {
  server: new URL(server),
  ...defined({ whenUnreachable }),
  credentials: () => first.promise.then(() => latest()),
  expired: () => send({ type: 'expired' }),
};

const clock = systemClock;
let heardAt = clock.now();
const client = new KubeClient(connection, { clock, userAgent });
const renewals: Pick<KubeClient, 'get' | 'write'> = {
  get: (...request) => client.get(...request),
  async write(...request) {
    const silence = clock.now() - heardAt;
    if (silence > limits.mainThreadMilliseconds)
      throw new KubeError('stalled', `the main thread has said nothing for ${Math.round(silence / 1000)} s, so the Lease is not renewed`);
    return client.write(...request);
  },
};

const fence = new Fence(memory);
let refusal: string | undefined;
const election = new Election(
  { client: renewals, watch: leaseWatch({ client, clock, random: systemRandom, log }), clock, random: systemRandom, log, changed },
  { lease, identity, ...defined({ timing }) },
);

function changed(): void {
  fence.set(election.writesUntil(), clock);
  const now = election.refusal();
  if (now !== refusal) send({ type: 'refusal', refusal: now });
  refusal = now;
}

port.on('message', (message: ToElection) => {
  heardAt = clock.now();
  if (message.type === 'stop') return void election.resign().then(() => end('stopped'));
  latest = () => {
    if (message.type === 'credentials') return message.credentials;
    throw new KubeError('credentials', message.message, { fix: message.fix });
  };
  first.resolve();
});
election.term.addEventListener('abort', () => send({ type: 'termEnded' }));
void election.lost.then(() => end('lost'));
void election.campaign().then((elected) => send({ type: 'elected', elected }));

function end(because: 'lost' | 'stopped'): void {
  send({ type: 'ended', because });
  client.close();
  port.close();
}
