import assert from 'node:assert';
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../system/clock.ts';
import { loadLibc } from '../../system/ffi/libc.ts';
import { systemRandom } from '../../system/random.ts';
import { takeRealTimePriority } from '../../system/ffi/real-time.ts';
import { Manager } from '../manager.ts';
import { linuxTransport } from '../transport/linux.ts';
import type { Transition } from '../session-status.ts';
import type { Answers, FeedMessage, Message, Question, StateFeed, StateMessage, WorkerOptions } from './messages.ts';

/** The program of the thread that runs the sessions. It has its own event loop and heap, so that a busy main thread delays no packet. */
assert(parentPort !== null, 'this is the program of a worker thread');
const port = parentPort;
const { minimumInterval, realTime } = workerData as WorkerOptions;
const transport = linuxTransport();
const libc = loadLibc();
assert(transport !== undefined && libc !== undefined, 'the main thread has checked that both are available');

const hasRealTime = realTime && takeRealTimePriority(libc);
const feeds: StateFeed[] = [];
const one = Buffer.from([1, 0, 0, 0, 0, 0, 0, 0]);
const send = (message: Message): void => port.postMessage(message);
const manager = new Manager(
  { clock: systemClock, random: systemRandom, transport },
  {
    changed(name, transition) {
      send({ type: 'changed', name, transition });
      for (const feed of feeds) tell(feed, name, transition);
    },
  },
  { minimumInterval, hasRealTime },
);

port.on('message', (message: Question | FeedMessage) => void (message.type === 'feed' ? begin(message) : reply(message)));
send({ type: 'started', realTime: hasRealTime });

function begin(feed: FeedMessage): void {
  feeds.push(feed);
  for (const { name, state, remote } of manager.status().sessions) tell(feed, name, { to: state, remoteState: remote?.state ?? 'Down' });
}

function tell({ port: to, wake }: StateFeed, name: string, { to: state, remoteState }: Pick<Transition, 'to' | 'remoteState'>): void {
  const message: StateMessage = {
    type: 'session',
    name,
    state: state === 'Up' ? 'Up' : remoteState === 'AdminDown' ? 'AdminDown' : 'Down',
  };
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  to.postMessage(message);
  libc?.write(wake, one, one.length);
}

async function reply(question: Question): Promise<void> {
  send({ type: 'answer', value: await answer(question) });
  if (question.type === 'stop') port.close();
}

async function answer(question: Question): Promise<Answers[keyof Answers]> {
  switch (question.type) {
    case 'set':
      return [...manager.replaceSessions(question.sessions)].map(([name, { field, message }]) => ({ name, field, message }));
    case 'status':
      return manager.status();
    case 'history':
      return manager.history(question.name);
    case 'stop':
      await manager.stop();
      return undefined;
  }
}
