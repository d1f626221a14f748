import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { acquireLock, LockedError } from '../../../../src/sources/directory/lock.ts';

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
}

/** Leaves the lock file of this process, with some fields as another holder would have written them. */
async function leave(changes: Partial<Holder>): Promise<Holder> {
  await acquireLock(file);
  const holder = { ...(JSON.parse(await readFile(file, 'utf8')) as Holder), ...changes };
  await writeFile(file, JSON.stringify(holder));
  return holder;
}

const holderOf = async (): Promise<Holder> => JSON.parse(await readFile(file, 'utf8')) as Holder;

/** The id of a process that has ended. */
async function deadProcess(): Promise<number> {
  const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
  await once(child, 'exit');
  if (child.pid === undefined) throw new Error('the process was not started');
  return child.pid;
}

describe('the lock of a directory', () => {
  test('names its process, and release removes it', async () => {
    const lock = await acquireLock(file);
    expect(await holderOf()).toMatchObject({ host: hostname(), pid: process.pid });
    await lock.release();
    expect(await readdir(join(directory, '.herald'))).toEqual([]);
  });

  test('can be taken again after release', async () => {
    await (await acquireLock(file)).release();
    await expect(acquireLock(file)).resolves.toBeDefined();
  });

  test('of a process that lives is refused, with its id, its host and the file', async () => {
    await acquireLock(file);
    const refused = acquireLock(file);
    await expect(refused).rejects.toBeInstanceOf(LockedError);
    await expect(refused).rejects.toMatchObject({ code: 'locked' });
    await expect(refused).rejects.toThrow(`process ${process.pid} on ${hostname()}`);
    await expect(refused).rejects.toThrow(file);
  });

  test('of another host is refused: nobody can tell from here whether it lives', async () => {
    await leave({ host: 'elsewhere.example', pid: await deadProcess() });
    await expect(acquireLock(file)).rejects.toThrow('on elsewhere.example');
  });

  test.each([
    ['a process that ended', async (): Promise<Partial<Holder>> => ({ pid: await deadProcess() })],
    ['an earlier boot of this host', async (): Promise<Partial<Holder>> => ({ boot: 'another' })],
    ['an earlier process with the same id', async (): Promise<Partial<Holder>> => ({ started: '1' })],
  ])('of %s is taken over', async (_, change) => {
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
  ])('that holds %s, after a crash, is taken over', async (_, text) => {
    await (await acquireLock(file)).release();
    await writeFile(file, text);
    await acquireLock(file);
    expect(await holderOf()).toMatchObject({ pid: process.pid });
  });

  test('that somebody else took over meanwhile is left alone by release', async () => {
    const lock = await acquireLock(file);
    await writeFile(file, JSON.stringify({ ...(await holderOf()), pid: 1, started: '0' }));
    await lock.release();
    expect(await holderOf()).toMatchObject({ pid: 1 });
  });
});
