import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { historyCommand } from '../../../../src/cli/commands/history-command.ts';
import type { MergedHistory } from '../../../../src/explain/history/merged-history.ts';
import { livePaths } from '../../../../src/live/contract.ts';
import { History } from '../../../../src/live/history.ts';
import { limits } from '../../../../src/live/limits.ts';
import { LiveApi } from '../../../../src/live/live-api.ts';
import { listenLocal, type LocalListener } from '../../../../src/system/http/local-socket.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { until } from '../../../lab/until.ts';
import { inProcess } from '../in-process.ts';
import { PausingClock } from '../pausing-clock.ts';
import type { Outcome } from '../program.ts';

/** The live API of the process of a node, at a socket. It has its own clock. */
class Process {
  readonly clock: VirtualClock;
  readonly history: History;
  readonly #listener: LocalListener;

  private constructor(clock: VirtualClock, history: History, listener: LocalListener) {
    this.clock = clock;
    this.history = history;
    this.#listener = listener;
  }

  static async start(node: string, clock = new VirtualClock()): Promise<Process> {
    const history = new History(clock);
    const live = new LiveApi(clock, { command: 'agent', version: '1.2.3', node });
    live.addList(livePaths.history, history.list);
    const missing = { status: 404, headers: {}, body: '' };
    const listener = await listenLocal(socketOf(node), ({ path, query }) => live.answer(path, query) ?? missing, limits);
    return new Process(clock, history, listener);
  }

  happens(what: string): void {
    this.clock.advance(1000);
    const routes = [{ peer: 'tor1', prefix: '192.0.2.1/32' }];
    this.history.record('Service', 'shop/web', { what, text: 'announced', routes });
  }

  stop(): Promise<void> {
    return this.#listener.close();
  }
}

let directory: string;
let node1: Process;
let node2: Process;
const socketOf = (node: string): string => join(directory, `${node}.sock`);

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'herald-history-'));
  node1 = await Process.start('node1');
  node2 = await Process.start('node2');
  node1.happens('Announced');
});

afterEach(async () => {
  await Promise.all([node1.stop(), node2.stop()]);
  await rm(directory, { recursive: true, force: true });
});

const words = (...more: readonly string[]): string[] => [
  'service',
  'shop/web',
  ...['node1', 'node2'].flatMap((node) => ['--socket', socketOf(node)]),
  ...more,
];
const history = (...more: readonly string[]): Promise<Outcome> => inProcess(historyCommand, words(...more));

describe('herald history', () => {
  test('a history is the same data as JSON and as YAML', async () => {
    const json = JSON.parse((await history('-o', 'json')).stdout) as MergedHistory;
    expect(json).toMatchObject({
      kind: 'Service',
      name: 'shop/web',
      entries: [{ by: 'node1', what: 'Announced' }],
      told: [{ who: 'the agent of node1', version: '1.2.3' }, { who: 'the agent of node2' }],
      unasked: [],
    });
    expect(parse((await history('-o', 'yaml')).stdout)).toEqual(json);
  });

  test('a wide history adds the routes of each peer', async () => {
    const wide = 'Announced: announced 192.0.2.1/32 to tor1\n                                 tor1: 192.0.2.1/32\n';
    expect((await history('-o', 'wide')).stdout).toContain(wide);
    expect((await history()).stdout).not.toContain(' tor1: ');
  });

  test('an invalid format or interval is a mistake on the command line', async () => {
    expect(await history('-o', 'xml')).toMatchObject({ code: 64, stderr: expect.stringContaining('text, wide, json, yaml') });
    expect(await history('--watch', '0')).toMatchObject({ code: 64, stderr: expect.stringContaining('1 to 3600') });
  });
});

/** A running --watch whose polls the test triggers. */
class Watch {
  readonly stdout: string[] = [];
  readonly stderr: string[] = [];
  readonly clock = new PausingClock();
  readonly #stop = new AbortController();
  readonly #ended: Promise<Outcome>;

  constructor(...more: readonly string[]) {
    this.#ended = inProcess(historyCommand, words('--watch', '7', ...more), {
      clock: this.clock,
      stopped: this.#stop.signal,
      isTerminal: true,
      print: (line) => void this.stdout.push(line),
      printError: (line) => void this.stderr.push(line),
    });
  }

  /** Polls until the condition holds. */
  async until(done: () => boolean): Promise<void> {
    await until('a look', () => {
      if (!done() && this.clock.isPausing) this.clock.advance(7000);
      return done();
    });
  }

  /** Runs one poll, from one pause to the next. */
  async look(): Promise<void> {
    await until('a pause', () => this.clock.isPausing);
    this.clock.advance(7000);
    await until('a pause', () => this.clock.isPausing);
  }

  async end(): Promise<Outcome> {
    this.#stop.abort('SIGINT');
    return this.#ended;
  }
}

describe('herald history --watch', () => {
  test('--watch shows the history, then only new entries, and ends with the signal', async () => {
    const watch = new Watch();
    await watch.look();
    const first = [...watch.stdout];
    expect(first[0]).toBe('Service shop/web');
    expect(first.at(-1)).toBe('');
    node2.happens('Withdrawn');
    await watch.until(() => watch.stdout.length > first.length);
    await watch.look();
    expect(watch.stdout).toEqual([...first, '2026-01-01T00:00:01.000Z  node2  Withdrawn: announced 192.0.2.1/32 to tor1']);
    expect(watch.stderr).toEqual([]);
    expect(await watch.end()).toMatchObject({ code: 0 });
    expect(watch.clock.pending).toBe(0);
  });

  test('--watch reports a silent process and a restarted one, and continues with its new entries', async () => {
    const watch = new Watch('-o', 'yaml');
    await watch.look();
    await node1.stop();
    await watch.until(() => watch.stderr.length >= 2);
    expect(watch.stderr).toEqual([
      expect.stringContaining(`there is no socket ${socketOf('node1')}`),
      'herald: the agent of node1 does not answer any more',
    ]);
    const clock = new VirtualClock();
    clock.advance(60_000);
    node1 = await Process.start('node1', clock);
    await watch.until(() => watch.stderr.length >= 3);
    expect(watch.stderr[2]).toBe('herald: the agent of node1 was restarted at 2026-01-01T00:01:00.000Z: it knows nothing from before');
    node1.happens('Programmed');
    await watch.until(() => watch.stdout.includes('---'));
    expect(watch.stderr).toHaveLength(3);
    const documents = parseAllDocuments(watch.stdout.join('\n')).map((one) => one.toJS() as MergedHistory);
    expect(documents.map(({ entries }) => entries.map(({ what }) => what))).toEqual([['Announced'], ['Programmed']]);
    expect(await watch.end()).toMatchObject({ code: 0 });
  });

  test('--since keeps its start however long the command watches', async () => {
    const watch = new Watch('--since', '10s', '-o', 'json');
    await watch.look();
    for (let looks = 0; looks < 3; looks++) await watch.look();
    node1.happens('Changed');
    await watch.until(() => watch.stdout.length > 1);
    expect(watch.stdout).toHaveLength(2);
    await watch.end();
  });

  test('--watch ends with an error when no process answers at first', async () => {
    await Promise.all([node1.stop(), node2.stop()]);
    const { code, stdout } = await history('--watch');
    expect(code).toBe(1);
    expect(stdout).toContain('No process could be queried.');
    [node1, node2] = [await Process.start('node1'), await Process.start('node2')];
  });
});
