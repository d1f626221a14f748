import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import process from 'node:process';
import { inNamespace } from '../../lab/namespace.ts';

export type HoldCommand =
  | { readonly do: 'open'; readonly group: string; readonly address: string; readonly port: number; readonly count: number }
  | { readonly do: 'ask'; readonly timeoutMs: number };

const program = fileURLToPath(new URL('connections-program.ts', import.meta.url));

/** Milliseconds. This is longer than TCP's attempts to send a segment again while routers converge. */
const timeoutMs = 30_000;

/** Connections of the client that are held open, in named groups. */
export class HeldConnections {
  readonly #child: ChildProcess;
  readonly #lines: Interface;

  constructor(namespace: string) {
    const [file = '', ...rest] = inNamespace(namespace, [process.execPath, program]);
    this.#child = spawn(file, rest, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#lines = createInterface({ input: this.#child.stdout as NodeJS.ReadableStream });
  }

  /** Opens connections and returns the number that succeeded. */
  async open(group: string, address: string, port: number, count: number): Promise<number> {
    const { open } = await this.#command<{ open: number }>({ do: 'open', group, address, port, count });
    return open;
  }

  /** Returns the number of connections of each group that are still answered. */
  async alive(): Promise<ReadonlyMap<string, number>> {
    const answers = await this.#command<Record<string, boolean[]>>({ do: 'ask', timeoutMs });
    return new Map(Object.entries(answers).map(([group, alive]) => [group, alive.filter(Boolean).length]));
  }

  end(): void {
    this.#child.stdin?.end();
  }

  async #command<T>(command: HoldCommand): Promise<T> {
    const answer = once(this.#lines, 'line') as Promise<[string]>;
    this.#child.stdin?.write(`${JSON.stringify(command)}\n`);
    return JSON.parse((await answer)[0]) as T;
  }
}
