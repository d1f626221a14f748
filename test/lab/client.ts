import assert from 'node:assert';
import { spawn, type ChildProcess } from 'node:child_process';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { defined } from '../../src/lang/defined.ts';
import type { ClientCommand, ClientEvent, Target } from './client-protocol.ts';
import { environment } from './command.ts';
import { inNamespace } from './namespace.ts';
import { identify, type ProcessIdentity } from './owner.ts';
import { report, type Outcome, type Report } from './outcome.ts';
import { Probe } from './probe.ts';

const program = fileURLToPath(new URL('client-program.ts', import.meta.url));

export interface RequestOptions {
  readonly address: string;
  readonly port: number;
  /** The number of requests, each from a fresh source port. 1 by default. */
  readonly count?: number;
  /** Milliseconds for each request. 10,000 by default. */
  readonly timeoutMs?: number;
  /** The number of requests at a time. 8 by default. */
  readonly parallel?: number;
  /** The source port. Only with a count of 1. */
  readonly localPort?: number;
}

export interface ProbeOptions {
  readonly protocol: 'tcp' | 'udp';
  readonly address: string;
  readonly port: number;
  /** Milliseconds. 20 by default. */
  readonly intervalMs?: number;
  /** Milliseconds for each request. 200 by default. */
  readonly timeoutMs?: number;
  /** Milliseconds after which a datagram without an answer is sent again. Absent: never. */
  readonly resendMs?: number;
  /** Source ports count up from here. By default the system chooses them, and soon chooses the same ones again. */
  readonly firstPort?: number;
}

export interface SteadyOptions {
  readonly address: string;
  readonly port: number;
  readonly connections: number;
  /** Milliseconds between two requests of one connection. 100 by default. */
  readonly intervalMs?: number;
  /** Milliseconds for each request. 1000 by default. */
  readonly timeoutMs?: number;
}

/** Sends requests to pods from a namespace. One process sends them all; it starts with the first request. */
export class Client {
  readonly #namespace: string;
  readonly #record: (identity: ProcessIdentity) => void;
  readonly #waiting = new Map<number, (event: ClientEvent | Error) => void>();
  #child: ChildProcess | undefined;
  #lastId = 0;

  constructor(namespace: string, record: (identity: ProcessIdentity) => void) {
    this.#namespace = namespace;
    this.#record = record;
  }

  tcp(options: RequestOptions): Promise<Report> {
    return this.#requests('tcp', options);
  }

  /** Sends datagrams. One without an answer is sent again each second. */
  udp(options: RequestOptions): Promise<Report> {
    return this.#requests('udp', options);
  }

  /** Makes one request each interval until stopped, whether or not the previous one was answered. */
  probe(options: ProbeOptions): Probe {
    const { protocol, address, port, timeoutMs = 200, resendMs, firstPort } = options;
    const target: Target = { protocol, address, port, timeoutMs, ...defined({ resendMs }) };
    return this.#series((id) => ({
      do: 'probe',
      id,
      target,
      intervalMs: options.intervalMs ?? 20,
      ...defined({ firstPort }),
    }));
  }

  /** Opens connections and makes requests over each of them until stopped (client-connection.ts). */
  steady({ address, port, connections, intervalMs = 100, timeoutMs = 1000 }: SteadyOptions): Probe {
    const target: Target = { protocol: 'tcp', address, port, timeoutMs };
    return this.#series((id) => ({ do: 'steady', id, target, connections, intervalMs }));
  }

  #series(command: (id: number) => ClientCommand): Probe {
    const id = ++this.#lastId;
    const probe = new Probe(() => this.#send({ do: 'stop', probe: id }));
    this.#waiting.set(id, (event) => {
      if (event instanceof Error) probe.end(event);
      else if ('outcome' in event) probe.add(event.outcome);
      else probe.end();
    });
    this.#send(command(id));
    return probe;
  }

  #requests(protocol: Target['protocol'], options: RequestOptions): Promise<Report> {
    const count = options.count ?? 1;
    assert(options.localPort === undefined || count === 1, 'localPort needs a count of 1');
    const target: Target = {
      protocol,
      address: options.address,
      port: options.port,
      timeoutMs: options.timeoutMs ?? 10_000,
      // UDP clients repeat a datagram, because a busy machine sometimes loses one.
      ...(protocol === 'udp' ? { resendMs: 1000 } : {}),
      ...defined({ localPort: options.localPort }),
    };
    const id = ++this.#lastId;
    const outcomes: Outcome[] = [];
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, (event) => {
        if (!(event instanceof Error) && 'outcome' in event) return outcomes.push(event.outcome);
        this.#waiting.delete(id);
        return event instanceof Error ? reject(event) : resolve(report(outcomes));
      });
      this.#send({ do: 'requests', id, target, count, parallel: options.parallel ?? 8 });
    });
  }

  #send(command: ClientCommand): void {
    this.#child ??= this.#start();
    this.#child.stdin?.write(`${JSON.stringify(command)}\n`);
  }

  #start(): ChildProcess {
    const [file = '', ...rest] = inNamespace(this.#namespace, [process.execPath, program]);
    const child = spawn(file, rest, { stdio: ['pipe', 'pipe', 'inherit'], detached: true, env: environment() });
    const identity = child.pid === undefined ? undefined : identify(child.pid);
    if (identity !== undefined) this.#record(identity);
    const ended = (): void => {
      this.#child = undefined;
      const error = new Error(`the client program in ${this.#namespace} ended`);
      for (const tell of this.#waiting.values()) tell(error);
      this.#waiting.clear();
    };
    child.once('error', ended);
    child.once('exit', ended);
    child.stdin.on('error', () => undefined);
    createInterface({ input: child.stdout }).on('line', (line) => {
      const event = JSON.parse(line) as ClientEvent;
      this.#waiting.get(event.id)?.(event);
    });
    return child;
  }
}
