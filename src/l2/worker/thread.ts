import assert from 'node:assert';
import { parentPort, receiveMessageOnPort, workerData, type MessagePort } from 'node:worker_threads';
import { loadLibc } from '../../system/ffi/libc.ts';
import { systemRandom } from '../../system/random.ts';
import { takeRealTimePriority } from '../../system/ffi/real-time.ts';
import { threadActivity, threadCpuMilliseconds } from '../../system/processes.ts';
import { Engine } from '../engine/engine.ts';
import { maximumWait, reopenInterval, stallTime } from '../limits.ts';
import type { L2Event } from '../status.ts';
import { linuxTransport } from '../transport/linux.ts';
import { LoopClock } from './loop-clock.ts';
import { MainThread } from './main-thread.ts';
import type { Answers, FeedMessage, Message, Question, SessionMessage, WorkerOptions } from './messages.ts';

/**
 * The program of the thread. It has no event loop: it blocks in poll(2) on the packet sockets and an eventfd, for 25 ms at most, then reads
 * messages and frames and runs timers. So nothing is between a request and its answer, and the process can end at any time.
 */
assert(parentPort !== null, 'this is the program of a worker thread');
const port = parentPort;
const { realTime, wake, heartbeat } = workerData as WorkerOptions;
const transport = linuxTransport();
const libc = loadLibc();
assert(transport !== undefined && libc !== undefined, 'the main thread has checked that both are available');

const hasRealTime = realTime && takeRealTimePriority(libc);
const send = (message: Message): void => port.postMessage(message);
const clock = new LoopClock();
let events: L2Event[] = [];
const engine = new Engine({ clock, random: systemRandom, transport }, (event) => events.push(event));
const mainThread = new MainThread(clock.now(), threadActivity);
const beats = new Int32Array(heartbeat);
const feeds: MessagePort[] = [port];
const wakes = Buffer.alloc(8);
/** Changed by what a message causes. */
const state = { isStopping: false, isDraining: false };

send({ type: 'started', realTime: hasRealTime });
run();
port.close();

function run(): void {
  let reopenAt = clock.now() + reopenInterval;
  let hasMore = false;
  let [began, used] = [clock.now(), threadCpuMilliseconds()];
  while (!state.isStopping || !engine.isIdle) {
    const wait = hasMore ? 0 : clock.wait(maximumWait);
    transport?.wait(wake, wait);
    libc?.read(wake, wakes, wakes.length);
    const [now, cpu] = [clock.now(), threadCpuMilliseconds()];
    // Time in which the thread neither waited nor worked: the process, the machine or the processor was elsewhere.
    const missing = now - began - wait - (cpu - used);
    [began, used] = [now, cpu];
    hasMore = turn(now, missing);
    if (clock.now() >= reopenAt) {
      transport?.reopen();
      reopenAt = clock.now() + reopenInterval;
    }
    if (events.length > 0) send({ type: 'events', events });
    events = [];
  }
  engine.close();
  send({ type: 'answer', value: undefined });
}

/** Returns true if frames may still wait. */
function turn(now: number, missing: number): boolean {
  if (missing > stallTime) {
    engine.stalled(missing);
    mainThread.stalled(now);
    state.isDraining = true;
  }
  if (mainThread.isAlive(now, Atomics.load(beats, 0))) engine.resume();
  else engine.suspend();
  for (const feed of feeds) {
    for (let received = receiveMessageOnPort(feed); received !== undefined; received = receiveMessageOnPort(feed)) {
      handle(received.message as Question | SessionMessage | FeedMessage);
    }
  }
  const hasMore = transport?.read() ?? false;
  if (state.isDraining && !hasMore) {
    engine.drained();
    state.isDraining = false;
  }
  clock.run();
  return hasMore;
}

function handle(message: Question | SessionMessage | FeedMessage): void {
  switch (message.type) {
    case 'session':
      return engine.sessionChanged(message.name, message.state);
    case 'feed':
      return void feeds.push(message.port);
    case 'stop':
      state.isStopping = true;
      return engine.stop();
    case 'set':
    case 'change':
    case 'announceAgain':
    case 'status':
    case 'counters':
      return send({ type: 'answer', value: answer(message) });
  }
}

function answer(question: Exclude<Question, { type: 'stop' }>): Answers[keyof Answers] {
  switch (question.type) {
    case 'set':
      return engine.setTable(question.table);
    case 'change':
      return engine.changeAddresses(question.changes);
    case 'announceAgain':
      engine.announceAgain(question.interface);
      return undefined;
    case 'status':
      return engine.status(question.addresses && new Set(question.addresses));
    case 'counters':
      return engine.counters();
  }
}
