import { setTimeout as sleep } from 'node:timers/promises';
import { processorTime, residentMemory } from '../../../test/bench/runner/process-figures.ts';
import { Receiver } from './receiver.ts';
import type { Contender, Sender } from './sender.ts';

/** One run of one sender. Times are in milliseconds, memory is in MB. */
export interface Run {
  readonly sender: string;
  /** The requested number of prefixes, or the number that the sender has when its bulk load lost some. */
  readonly size: number;
  readonly count: number;
  /** The time from Established until the receiver has every prefix. */
  readonly announce: number;
  /** The time from the command to withdraw until the receiver has no prefix. */
  readonly withdraw: number;
  /** Resident memory of the sender with all prefixes announced. */
  readonly memory: number;
  /** Processor time of the sender: from the opening of the session until the receiver has everything, and for the withdrawal. */
  readonly processorAnnounce: number;
  readonly processorWithdraw: number;
  readonly updates: number;
}

const establishMilliseconds = 60_000;

export async function measure(contender: Contender, size: number): Promise<Run> {
  const receiver = await Receiver.start();
  try {
    const sender = await contender.start(size);
    try {
      const { count } = sender;
      const before = sender.pid === undefined ? 0 : processorTime(sender.pid);
      await sender.open();
      const pid = pidOf(sender);
      const up = await receiver.established(establishMilliseconds);
      const all = await receiver.until('all prefixes', ({ prefixes }) => prefixes >= count, 10_000 + size * 2);
      const processorAnnounce = processorTime(pid) - before;
      const updates = await receiver.updates();
      await sleep(300);
      const memory = residentMemory(pid);
      const beforeWithdrawal = processorTime(pid);
      const ordered = performance.now();
      const order = sender.withdraw();
      const none = await receiver.until('no prefix', ({ prefixes, established }) => prefixes === 0 && established, 10_000 + size * 2);
      const processorWithdraw = processorTime(pid) - beforeWithdrawal;
      await order;
      return {
        sender: contender.name,
        size,
        count,
        announce: all.at - up,
        withdraw: none.at - ordered,
        memory,
        processorAnnounce,
        processorWithdraw,
        updates,
      };
    } finally {
      await sender.stop();
    }
  } finally {
    await receiver.stop();
  }
}

/** Returns the resident memory of a sender whose session is up and which has no routes. */
export async function measureIdle(contender: Contender): Promise<number> {
  const receiver = await Receiver.start();
  try {
    const sender = await contender.start(0);
    try {
      await sender.open();
      await receiver.established(establishMilliseconds);
      await sleep(1500);
      return residentMemory(pidOf(sender));
    } finally {
      await sender.stop();
    }
  } finally {
    await receiver.stop();
  }
}

function pidOf({ pid }: Sender): number {
  if (pid === undefined) throw new Error('a sender with an open session has a process');
  return pid;
}
