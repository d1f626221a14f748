import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { copyFile, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { acquireLock, holderHasEnded, LockedError, requireUnlocked } from '../../../../src/sources/directory/lock.ts';
import { runs } from '../../../support/property.ts';

let directory: string;
let file: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'herald-lock-'));
  file = join(directory, '.herald', 'controller.lock');
});
afterEach(() => rm(directory, { recursive: true }));

interface Holder {
  readonly host: string;
  readonly boot: string;
  readonly pid: number;
  readonly started: string;
  readonly pids: string;
}

/** Writes a lock file of this process, with some fields as another holder would have written them. */
async function leave(changes: Partial<Holder>): Promise<Holder> {
  await acquireLock(file);
  const holder = { ...(JSON.parse(await readFile(file, 'utf8')) as Holder), ...changes };
  await writeFile(file, JSON.stringify(holder));
  return holder;
}

const holderOf = async (): Promise<Holder> => JSON.parse(await readFile(file, 'utf8')) as Holder;

/** Returns the id of a process that has ended. */
async function deadProcess(): Promise<number> {
  const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
  await once(child, 'exit');
  if (child.pid === undefined) throw new Error('the process was not started');
  return child.pid;
}

const program = `
  import { createInterface } from 'node:readline';
  import { acquireLock } from ${JSON.stringify(join(import.meta.dirname, '../../../../src/sources/directory/lock.ts'))};
  let lock;
  console.log('ready');
  for await (const line of createInterface({ input: process.stdin })) {
    if (line === 'take') lock = await acquireLock(process.argv[1]).catch((error) => void console.log(error.code ?? String(error)));
    else await lock?.release();
    if (line !== 'take' || lock !== undefined) console.log(line === 'take' ? 'taken' : 'released');
  }
`;

/** Another process that takes the lock on command. */
class Racer {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #answers: AsyncIterator<string>;

  private constructor(lockFile: string) {
    this.#child = spawn(process.execPath, ['--input-type=module', '-e', program, lockFile], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#answers = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  static async start(lockFile: string): Promise<Racer> {
    const racer = new Racer(lockFile);
    await racer.#answers.next();
    return racer;
  }

  async ask(what: 'take' | 'release'): Promise<string> {
    this.#child.stdin.write(`${what}\n`);
    const { value } = (await this.#answers.next()) as { readonly value: string };
    return value;
  }

  end(): void {
    this.#child.stdin.end();
  }
}

describe('the lock of a directory', () => {
  test('the lock names its process, and release removes it', async () => {
    const lock = await acquireLock(file);
    expect(await holderOf()).toMatchObject({ host: hostname(), pid: process.pid });
    await lock.release();
    expect(await readdir(join(directory, '.herald'))).toEqual([]);
  });

  test('the lock can be taken again after release', async () => {
    await (await acquireLock(file)).release();
    await expect(acquireLock(file)).resolves.toBeDefined();
  });

  test('the lock of a live process is refused with its id, host and file', async () => {
    await acquireLock(file);
    const refused = acquireLock(file);
    await expect(refused).rejects.toBeInstanceOf(LockedError);
    await expect(refused).rejects.toMatchObject({ code: 'locked' });
    await expect(refused).rejects.toThrow(`process ${process.pid} on ${hostname()}`);
    await expect(refused).rejects.toThrow(file);
  });

  test('the lock of another host is refused, because its process cannot be checked', async () => {
    await leave({ host: 'elsewhere.example', pid: await deadProcess() });
    await expect(acquireLock(file)).rejects.toThrow('on elsewhere.example');
  });

  test.each([
    ['a process that ended', async (): Promise<Partial<Holder>> => ({ pid: await deadProcess() })],
    ['an earlier boot of this host', async (): Promise<Partial<Holder>> => ({ boot: 'another' })],
    ['an earlier process with the same id', async (): Promise<Partial<Holder>> => ({ started: '1' })],
  ])('the lock of %s is taken over', async (_, change) => {
    const stale = await leave(await change());
    const lock = await acquireLock(file);
    expect(await holderOf()).toMatchObject({ pid: process.pid });
    expect(await holderOf()).not.toEqual(stale);
    expect(await readdir(join(directory, '.herald'))).toEqual(['controller.lock']);
    await lock.release();
  });

  test.each([
    ['nothing', ''],
    ['half of what was to be written', '{"host":"a","bo'],
  ])('a lock that holds %s after a crash is taken over', async (_, text) => {
    await (await acquireLock(file)).release();
    await writeFile(file, text);
    await acquireLock(file);
    expect(await holderOf()).toMatchObject({ pid: process.pid });
  });

  test('the lock of a process that died while it took over another lock is taken over', async () => {
    const dead = await deadProcess();
    await leave({ pid: dead });
    const guard = `${file}.${createHash('sha256')
      .update(await readFile(file))
      .digest('hex')
      .slice(0, 16)}`;
    await copyFile(file, guard);
    await acquireLock(file);
    expect(await holderOf()).toMatchObject({ pid: process.pid });
    expect(await readdir(join(directory, '.herald'))).toEqual(['controller.lock']);
  });

  test('exactly one of many processes takes over a stale lock', async () => {
    const stale = await leave({ pid: await deadProcess() });
    const racers = await Promise.all(Array.from({ length: 6 }, () => Racer.start(file)));
    try {
      for (let round = 0; round < runs(150); round++) {
        await writeFile(file, JSON.stringify({ ...stale, attempt: `round ${round}` }));
        const outcomes = await Promise.all(racers.map((racer) => racer.ask('take')));
        expect(outcomes.filter((outcome) => outcome === 'taken')).toHaveLength(1);
        expect(outcomes.filter((outcome) => outcome === 'locked')).toHaveLength(racers.length - 1);
        await Promise.all(racers.map((racer) => racer.ask('release')));
        expect(await readdir(join(directory, '.herald'))).toEqual([]);
      }
    } finally {
      for (const racer of racers) racer.end();
    }
  });

  test('release leaves a lock that another process took over', async () => {
    const lock = await acquireLock(file);
    await writeFile(file, JSON.stringify({ ...(await holderOf()), pid: 1, started: '0' }));
    await lock.release();
    expect(await holderOf()).toMatchObject({ pid: 1 });
  });
});

test('requireUnlocked reports a live holder without taking the lock', async () => {
  await requireUnlocked(file);
  await leave({ pid: await deadProcess() });
  await requireUnlocked(file);
  await rm(file);
  const lock = await acquireLock(file);
  await expect(requireUnlocked(file)).rejects.toThrow(LockedError);
  await lock.release();
  await requireUnlocked(file);
  expect(await readdir(join(directory, '.herald'))).toEqual([]);
});

describe('a holder that has ended', () => {
  test('is a process of this host that died without giving the lock up', async () => {
    await leave({ pid: await deadProcess() });
    expect(await holderHasEnded(file)).toBe(true);
  });

  test('is none that lives, that gave the lock up, or that this process cannot see', async () => {
    expect(await holderHasEnded(file)).toBe(false);
    const lock = await acquireLock(file);
    expect(await holderHasEnded(file)).toBe(false);
    await lock.release();
    expect(await holderHasEnded(file)).toBe(false);
    const dead = await deadProcess();
    await leave({ pid: dead, host: 'elsewhere' });
    expect(await holderHasEnded(file)).toBe(false);
    await rm(file);
    await leave({ pid: dead, pids: 'pid:[1]' });
    expect(await holderHasEnded(file)).toBe(false);
    await writeFile(file, '{');
    expect(await holderHasEnded(file)).toBe(false);
  });
});
