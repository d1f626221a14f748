import assert from 'node:assert';
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../system/clock.ts';
import { loadLibc, type Libc } from '../../system/ffi/libc.ts';
import { systemRandom } from '../../system/random.ts';
import { Manager } from '../manager.ts';
import { linuxTransport } from '../transport/linux.ts';
import type { Answers, Message, Question, WorkerOptions } from './messages.ts';

const SCHED_FIFO = 1;

/** Above all threads without real-time priority, below those of the kernel that have more. */
const priority = 50;

/**
 * The program of the thread in which the sessions run: an event loop and a heap of its own, so that what holds up the main thread holds up
 * no packet.
 */
assert(parentPort !== null, 'this is the program of a worker thread');
const port = parentPort;
const { minimumInterval, realTime } = workerData as WorkerOptions;
const transport = linuxTransport();
const libc = loadLibc();
assert(transport !== undefined && libc !== undefined, 'whoever starts the worker has looked before');

const hasRealTime = realTime && takeRealTimePriority(libc);
const tell = (message: Message): void => port.postMessage(message);
const manager = new Manager(
  { clock: systemClock, random: systemRandom, transport },
  { changed: (name, transition) => tell({ type: 'changed', name, transition }) },
  { minimumInterval, hasRealTime },
);

port.on('message', (question: Question) => void reply(question));
tell({ type: 'started', realTime: hasRealTime });

async function reply(question: Question): Promise<void> {
  tell({ type: 'answer', value: await answer(question) });
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

/**
 * Asks that this thread runs whenever it has something to do, whatever else the machine is busy with. False: it may not (CAP_SYS_NICE),
 * and then it goes on as any other thread does.
 */
function takeRealTimePriority(libc: Libc): boolean {
  // struct sched_param
  const parameters = Buffer.alloc(4);
  parameters.writeInt32LE(priority);
  return libc.setThreadScheduling(SCHED_FIFO, parameters) === 0;
}
