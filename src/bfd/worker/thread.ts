import assert from 'node:assert';
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../system/clock.ts';
import { loadLibc } from '../../system/ffi/libc.ts';
import { systemRandom } from '../../system/random.ts';
import { takeRealTimePriority } from '../../system/ffi/real-time.ts';
import { Manager } from '../manager.ts';
import { linuxTransport } from '../transport/linux.ts';
import type { Answers, Message, Question, WorkerOptions } from './messages.ts';

/** The program of the thread that runs the sessions. It has its own event loop and heap, so that a busy main thread delays no packet. */
assert(parentPort !== null, 'this is the program of a worker thread');
const port = parentPort;
const { minimumInterval, realTime } = workerData as WorkerOptions;
const transport = linuxTransport();
const libc = loadLibc();
assert(transport !== undefined && libc !== undefined, 'the main thread has checked that both are available');

const hasRealTime = realTime && takeRealTimePriority(libc);
const send = (message: Message): void => port.postMessage(message);
const manager = new Manager(
  { clock: systemClock, random: systemRandom, transport },
  { changed: (name, transition) => send({ type: 'changed', name, transition }) },
  { minimumInterval, hasRealTime },
);

port.on('message', (question: Question) => void reply(question));
send({ type: 'started', realTime: hasRealTime });

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
