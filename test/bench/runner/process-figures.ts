import { readdirSync, readFileSync } from 'node:fs';

/** Returns the processor time that all threads of a process have used so far, in milliseconds. */
export function processorTime(pid: number): number {
  let nanoseconds = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      // Field 1 is the time on the processor in nanoseconds (the kernel's sched-stats document). /proc/PID/stat counts in steps of 10 ms.
      nanoseconds += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]);
    } catch {
      // The thread has ended in the meantime.
    }
  }
  return nanoseconds / 1e6;
}

/** Returns the resident memory of a process in MB (10^6 octets). */
export function residentMemory(pid: number): number {
  const found = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return (Number(found?.[1] ?? Number.NaN) * 1024) / 1e6;
}

/** Returns the largest resident memory that a process has had, in MB (10^6 octets). */
export function peakMemory(pid: number): number {
  const found = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return (Number(found?.[1] ?? Number.NaN) * 1024) / 1e6;
}

/** Returns the processor time of a process in seconds, with that of threads that have ended. It counts in steps of 10 ms. */
export function processorSeconds(pid: number): number {
  return secondsIn(pid, 11);
}

/** Returns the processor time, in seconds, of the programs that a process has run and that have ended. */
export function childrenSeconds(pid: number): number {
  return secondsIn(pid, 13);
}

/** Adds the user time at this place of /proc/PID/stat, counted from the state of the process, and the system time after it. */
function secondsIn(pid: number, place: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(fields[place]) + Number(fields[place + 1])) / 100;
}
