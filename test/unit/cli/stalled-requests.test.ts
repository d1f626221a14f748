import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { root } from './program.ts';

/** An API server that answers some requests of each client with empty lists, and then none. It stands for a fault: no real one stalls when it should. */
class StallingServer {
  readonly #server: Server;
  #left = 0;
  #stalled = Promise.withResolvers<void>();

  constructor() {
    this.#server = createServer((_, response) => {
      if (this.#left-- > 0) answerEmpty(response);
      else {
        // The client has got half an answer.
        response.writeHead(200, { 'content-type': 'application/json' }).write('{"kind":');
        this.#stalled.resolve();
      }
    });
  }

  /** Resolves when it listens, to the address. */
  async start(): Promise<string> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Answers so many requests. Resolves when it has stopped to answer. */
  stallAfter(answers: number): Promise<void> {
    this.#left = answers;
    this.#stalled = Promise.withResolvers();
    return this.#stalled.promise;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

function answerEmpty(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ kind: 'List', apiVersion: 'v1', metadata: { resourceVersion: '1' }, items: [] }));
}

const directory = mkdtempSync(join(tmpdir(), 'herald-stalled-'));
const server = new StallingServer();

beforeAll(async () => {
  const address = await server.start();
  const cluster = { server: address, 'insecure-skip-tls-verify': true };
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'x', cluster }],
    users: [{ name: 'x', user: { token: 'x' } }],
    contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
    'current-context': 'x',
  };
  writeFileSync(join(directory, 'kubeconfig'), JSON.stringify(kubeconfig));
});

afterAll(() => {
  server.stop();
  rmSync(directory, { recursive: true });
});

/** Starts the command, sends the signal when a request is not answered any more, and returns how the process ended, and what it printed. */
async function stopped(words: string, answers: number, signal: NodeJS.Signals): Promise<object> {
  const stalled = server.stallAfter(answers);
  const child = spawn(join(root, 'bin/herald'), [...words.split(' '), '--kubeconfig', join(directory, 'kubeconfig')], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => void (printed += chunk));
  const exit = once(child, 'exit') as Promise<[number | null, string | null]>;
  await Promise.race([stalled, exit]);
  const began = performance.now();
  child.kill(signal);
  const [code, by] = await exit;
  // A minute of the request's own timeout would pass otherwise.
  return { code, by, printed, late: performance.now() - began > 20_000 };
}

describe('a command whose request is not answered', () => {
  test.each([
    ['status', 0, 'SIGINT'],
    ['routes -A', 5, 'SIGINT'],
    ['pools -o json', 9, 'SIGTERM'],
    ['history service shop/web', 0, 'SIGINT'],
    ['version', 0, 'SIGINT'],
  ] as const)('herald %s, after %d answers, is ended by the first %s, and prints nothing', async (words, answers, signal) => {
    expect(await stopped(words, answers, signal)).toEqual({ code: null, by: signal, printed: '', late: false });
  });

  test.each([
    ['peers --watch', 4],
    ['history peer tor1 --watch', 0],
  ] as const)('herald %s, after %d answers, ends with status 0 by the first signal', async (words, answers) => {
    expect(await stopped(words, answers, 'SIGINT')).toEqual({ code: 0, by: null, printed: '', late: false });
  });
});
