import type { Libc } from './libc.ts';

const SCHED_FIFO = 1;

/** Above all threads without real-time priority, and below kernel threads with more. */
const priority = 50;

/**
 * Asks the kernel to run the calling thread before all normal threads. Returns false without the permission (CAP_SYS_NICE); the thread then
 * runs at normal priority.
 */
export function takeRealTimePriority(libc: Libc): boolean {
  // struct sched_param
  const parameters = Buffer.alloc(4);
  parameters.writeInt32LE(priority);
  return libc.setThreadScheduling(SCHED_FIFO, parameters) === 0;
}
