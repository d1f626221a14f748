import { appendFileSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { randomInt } from 'node:crypto';
import process from 'node:process';
import { identify, isAlive, type ProcessIdentity } from './owner.ts';

/** The directory with the state of each lab. The next lab uses it to clean up after a lab whose owner was killed. */
export const stateRoot = '/run/herald-lab';

export const directoryOf = (id: string): string => `${stateRoot}/${id}`;

/**
 * Creates the directory of a lab of this process and returns the lab's id: `hl` and four characters.
 *
 * The directory gets its name only after the owner was written, because a lab without an owner would look abandoned.
 */
export function claimId(): string {
  mkdirSync(stateRoot, { recursive: true });
  const owner = identify(process.pid);
  for (;;) {
    const id = `hl${randomInt(36 ** 4)
      .toString(36)
      .padStart(4, '0')}`;
    const draft = `${stateRoot}/.${id}.${process.pid}`;
    if (existsSync(directoryOf(id))) continue;
    mkdirSync(`${draft}/logs`, { recursive: true });
    writeFileSync(`${draft}/owner.json`, JSON.stringify(owner));
    renameSync(draft, directoryOf(id));
    return id;
  }
}

/** Appends to the lab's list of processes as soon as a process exists. */
export function recordProcess(id: string, identity: ProcessIdentity): void {
  appendFileSync(`${directoryOf(id)}/processes`, `${identity.pid} ${identity.started}\n`);
}

export function recordedProcesses(id: string): readonly ProcessIdentity[] {
  let text: string;
  try {
    text = readFileSync(`${directoryOf(id)}/processes`, 'utf8');
  } catch {
    return [];
  }
  return text
    .split('\n')
    .map((line) => line.split(' '))
    .flatMap(([pid, started]) => (started === undefined ? [] : [{ pid: Number(pid), started }]));
}

/** Marks a lab as kept. It stays when its owner ends, and only an explicit sweep takes it down. */
export function markKept(id: string): void {
  writeFileSync(`${directoryOf(id)}/kept`, '');
}

/** Returns labs whose owner is gone. `kept` includes labs that keep() left running. */
export function abandonedIds(kept: boolean): readonly string[] {
  if (!existsSync(stateRoot)) return [];
  const entries = readdirSync(stateRoot);
  for (const draft of entries.filter((name) => name.startsWith('.'))) {
    // Drafts exist for less than a millisecond and name their creator.
    if (identify(Number(draft.split('.').at(-1))) === undefined) rmSync(`${stateRoot}/${draft}`, { recursive: true, force: true });
  }
  return entries
    .filter((name) => name.startsWith('hl'))
    .filter((id) => isAbandoned(id) && (kept || !existsSync(`${directoryOf(id)}/kept`)));
}

/** Returns the labs of these processes, without those that keep() left running. */
export function ownedIds(pids: ReadonlySet<number>): readonly string[] {
  if (!existsSync(stateRoot)) return [];
  return readdirSync(stateRoot).filter(
    (id) => id.startsWith('hl') && !existsSync(`${directoryOf(id)}/kept`) && pids.has(ownerOf(id)?.pid ?? 0),
  );
}

function ownerOf(id: string): ProcessIdentity | undefined {
  try {
    return JSON.parse(readFileSync(`${directoryOf(id)}/owner.json`, 'utf8')) as ProcessIdentity;
  } catch {
    // A sweep that was itself killed may have removed the file. A sweep that runs right now removes the directory at its end.
    return undefined;
  }
}

function isAbandoned(id: string): boolean {
  const owner = ownerOf(id);
  return owner === undefined || !isAlive(owner);
}
