import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { constants } from 'node:os';
import process from 'node:process';
import { environment } from './command.ts';
import { frrDirectories } from './frr.ts';
import { identify, signal, type ProcessIdentity } from './owner.ts';
import { directoryOf, ownedIds } from './state.ts';

/** Processes inherit this variable, also those that lead their own session and those whose parent has ended. */
const variable = 'HERALD_STARTED_BY';

/** Milliseconds to wait for processes to end. After SIGKILL a process is gone at once unless the kernel is busy with it. */
const killTimeoutMs = 5_000;

/**
 * Ends everything that this process starts from now on when this process ends, also by SIGINT, SIGTERM or SIGHUP: processes, network
 * namespaces and labs. Call it before anything is started. The returned function takes it back, for a lab that is kept.
 */
export function endTogether(): () => void {
  const mark = `${process.pid}-${identify(process.pid)?.started ?? ''}`;
  process.env[variable] = [process.env[variable], mark].filter((each) => each !== undefined).join(' ');
  const end = (): void => endAll(mark);
  process.once('exit', end);
  // Not `once`: a second signal would then end this process in the middle of its end.
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => process.exit(128 + constants.signals[name]));
  return () => process.off('exit', end);
}

/** Synchronous, because it runs in the last moment of this process. */
function endAll(mark: string): void {
  const pids = new Set([process.pid]);
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (const deadline = performance.now() + killTimeoutMs; performance.now() < deadline; Atomics.wait(pause, 0, 0, 10)) {
    const alive = processesWith(mark);
    if (alive.length === 0) break;
    for (const identity of alive) {
      pids.add(identity.pid);
      signal(identity, 'SIGKILL');
    }
  }
  const labs = ownedIds(pids);
  for (const namespace of namespaces().filter((name) => labs.some((id) => name.startsWith(`${id}-`)) || namesOneOf(pids, name)))
    removeNamespace(namespace);
  for (const id of labs) rmSync(directoryOf(id), { recursive: true, force: true });
}

function processesWith(mark: string): readonly ProcessIdentity[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid && startedBy(name).includes(mark))
    .map((name) => identify(Number(name)))
    .filter((identity) => identity !== undefined);
}

function startedBy(pid: string): readonly string[] {
  try {
    const line = readFileSync(`/proc/${pid}/environ`, 'latin1')
      .split('\0')
      .find((each) => each.startsWith(`${variable}=`));
    return line?.slice(variable.length + 1).split(' ') ?? [];
  } catch {
    // It has ended, or belongs to another user.
    return [];
  }
}

function namespaces(): readonly string[] {
  return existsSync('/run/netns') ? readdirSync('/run/netns') : [];
}

/** Labs and benches put the process ID into the names of their namespaces: `hd-PID-node`, `hn-bench-PID`. */
function namesOneOf(pids: ReadonlySet<number>, namespace: string): boolean {
  return /^h[a-z]+-/.test(namespace) && namespace.split('-').some((part) => /^\d+$/.test(part) && pids.has(Number(part)));
}

function removeNamespace(name: string): void {
  try {
    execFileSync('ip', ['netns', 'del', name], { stdio: 'ignore', env: environment() });
  } catch {
    // Another process removed it first.
  }
  for (const directory of frrDirectories(name)) rmSync(directory, { recursive: true, force: true });
}
