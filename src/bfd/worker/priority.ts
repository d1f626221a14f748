import type { Libc } from '../../system/ffi/libc.ts';

const SCHED_FIFO = 1;

/** Above all threads without real-time priority, below those of the kernel that have more. */
const priority = 50;

/**
 * Asks that this thread runs whenever it has something to do, whatever else the machine is busy with. False: it may not (CAP_SYS_NICE),
 * and then it goes on as any other thread does.
 */
export function takeRealTimePriority(libc: Libc): boolean {
  // struct sched_param
  const parameters = Buffer.alloc(4);
  parameters.writeInt32LE(priority);
  return libc.setThreadScheduling(SCHED_FIFO, parameters) === 0;
}
