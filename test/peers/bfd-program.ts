import process from 'node:process';
import { Bfd, type BfdOptions, type SessionOptions, type Transition } from '../../src/bfd/index.ts';

/** The program that the BFD suites run inside a namespace. It runs sessions and takes calls over a pipe. */
interface Call {
  readonly id: number;
  readonly method: string;
  readonly args: readonly unknown[];
}

const [, , given = '{}'] = process.argv;
const bfd = new Bfd(JSON.parse(given) as BfdOptions);
const changes: (Transition & { readonly name: string })[] = [];
bfd.onChange((name, transition) => void changes.push({ name, ...transition }));

const methods: Record<string, (...args: never[]) => unknown> = {
  started: () => bfd.started(),
  set: (sessions: SessionOptions[]) => bfd.set(sessions),
  status: () => bfd.status(),
  history: (name: string) => bfd.history(name),
  /** Returns the changes since the last call. */
  changes: () => changes.splice(0),
  /** Blocks the main thread for this many milliseconds. */
  block: (milliseconds: number) => block(milliseconds),
  /** Blocks the main thread for `blocked` of every `period` milliseconds, until the process ends. */
  keepBlocking: (blocked: number, period: number) => void setInterval(() => block(blocked), period),
  cpu: () => process.cpuUsage(),
  memory: () => process.memoryUsage().rss,
  stop: () => bfd.stop(),
};

function block(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

process.on('message', (call: Call) => void answer(call));

async function answer({ id, method, args }: Call): Promise<void> {
  try {
    process.send?.({ id, value: await methods[method]?.(...(args as never[])) });
  } catch (error) {
    process.send?.({ id, error: String(error) });
  }
}

process.on('disconnect', () => process.exit());
