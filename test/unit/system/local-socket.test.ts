import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { requestLocal, listenLocal, type AnswerLocal, type LocalListener } from '../../../src/system/http/local-socket.ts';

const bounds = { connections: 4, headerBytes: 4096, requestMilliseconds: 10_000, idleMilliseconds: 1000 };
const signal = new AbortController().signal;
let directory: string;
const open: LocalListener[] = [];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'herald-socket-'));
});

afterEach(async () => {
  for (const listener of open.splice(0)) await listener.close();
  await rm(directory, { recursive: true });
});

async function listen(path: string, answer: AnswerLocal): Promise<LocalListener> {
  const listener = await listenLocal(path, answer, bounds);
  open.push(listener);
  return listener;
}

const say =
  (body: string): AnswerLocal =>
  () => ({ status: 200, headers: {}, body });

async function ask(path: string, target = '/'): Promise<{ status: number; body: string }> {
  const { status, chunks } = await requestLocal(path, target, signal);
  return { status, body: await text(chunks) };
}

describe('local socket', () => {
  test('only the owner has access, its directory is created, and requests carry path and query', async () => {
    const path = join(directory, 'a/b/agent.sock');
    await listen(path, ({ path: asked, query }) => ({ status: 404, headers: {}, body: `${asked} ${query.get('a')}` }));
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readdir(join(directory, 'a/b'))).toEqual(['agent.sock']);
    expect(await ask(path, '/x/y?a=1%2F2')).toEqual({ status: 404, body: '/x/y 1/2' });
  });

  test('close removes the socket', async () => {
    const path = join(directory, 'agent.sock');
    const listener = await listen(path, say(''));
    await listener.close();
    expect(await readdir(directory)).toEqual([]);
    await expect(requestLocal(path, '/', signal)).rejects.toMatchObject({ code: 'ENOENT', message: expect.stringContaining(path) });
  });

  test('replaces a socket at which no process answers any more', async () => {
    const path = join(directory, 'agent.sock');
    // The socket file remains, as after SIGKILL.
    const { promise, resolve } = Promise.withResolvers<void>();
    const dead = createServer().listen(join(directory, 'dead.sock'), resolve);
    await promise;
    const { rename } = await import('node:fs/promises');
    await rename(join(directory, 'dead.sock'), path);
    await new Promise((closed) => dead.close(closed));
    await expect(requestLocal(path, '/', signal)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await listen(path, say('new'));
    expect(await ask(path)).toEqual({ status: 200, body: 'new' });
  });

  test('does not replace a socket at which another process answers, nor a file that is not a socket', async () => {
    const path = join(directory, 'agent.sock');
    await listen(path, say('first'));
    await expect(listen(path, say('second'))).rejects.toMatchObject({ code: 'taken' });
    expect(await ask(path)).toEqual({ status: 200, body: 'first' });
    const file = join(directory, 'file');
    await writeFile(file, 'precious');
    await expect(listen(file, say(''))).rejects.toMatchObject({ code: 'taken', message: expect.stringContaining('not a socket') });
    expect(await readdir(directory)).toEqual(['agent.sock', 'file']);
  });

  test('close keeps the socket of a later process at the same path', async () => {
    const path = join(directory, 'agent.sock');
    const first = await listen(path, say('first'));
    await rm(path);
    await listen(path, say('second'));
    await first.close();
    expect(await ask(path)).toEqual({ status: 200, body: 'second' });
  });

  test('answers 500 when the handler fails', async () => {
    const path = join(directory, 'agent.sock');
    await listen(path, () => Promise.reject(new Error('broken')));
    expect((await ask(path)).status).toBe(500);
  });

  test('streams an answer until the client disconnects, then ends it', async () => {
    const path = join(directory, 'agent.sock');
    const { promise: ended, resolve: end } = Promise.withResolvers<string>();
    await listen(path, ({ signal: gone }) => ({
      status: 200,
      headers: {},
      chunks: (async function* () {
        try {
          yield Buffer.from('one ');
          yield Buffer.from('two ');
          await new Promise((_, reject) => gone.addEventListener('abort', () => reject(new Error('gone'))));
        } finally {
          end('ended');
        }
      })(),
    }));
    const { chunks } = await requestLocal(path, '/', signal);
    let read = '';
    for await (const chunk of chunks) {
      read += Buffer.from(chunk).toString();
      if (read.includes('two')) break;
    }
    expect(await ended).toBe('ended');
  });
});
