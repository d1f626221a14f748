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
  /** 1 by default, each from a fresh source port. */
  readonly count?: number;
  /** Of each; 10,000 by default. */
  readonly timeoutMs?: number;
  /** How many at a time; 8 by default. */
  readonly parallel?: number;
  /** A source port to insist on, with a count of 1. */
  readonly localPort?: number;
}

export interface ProbeOptions {
  readonly protocol: 'tcp' | 'udp';
  readonly address: string;
  readonly port: number;
  /** 20 by default. */
  readonly intervalMs?: number;
  /** Of each request; 200 by default. */
  readonly timeoutMs?: number;
  /** A datagram without an answer is sent again after this long; never by default. */
  readonly resendMs?: number;
  /** Source ports are counted up from here; by default the system chooses them, and soon the same ones again. */
  readonly firstPort?: number;
}

export interface SteadyOptions {
  readonly address: string;
  readonly port: number;
  readonly connections: number;
  /** Between two requests of one connection; 100 by default. */
  readonly intervalMs?: number;
  /** Of each request; 1000 by default. */
  readonly timeoutMs?: number;
}

/** Sends requests to pods from a namespace, through one process that starts with the first request. */
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

  /** A datagram without an answer is sent again each second. */
  udp(options: RequestOptions): Promise<Report> {
    return this.#requests('udp', options);
  }

  /** One request each interval, whether or not the one before it was answered, until stopped. */
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

  /** Connections that are kept, each of which asks again and again, until stopped (client-connection.ts). */
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
    assert(options.localPort === undefined || count === 1, 'one source port is good for one request');
    const target: Target = {
      protocol,
      address: options.address,
      port: options.port,
      timeoutMs: options.timeoutMs ?? 10_000,
      // As clients of UDP do: a busy machine loses a datagram now and then.
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
