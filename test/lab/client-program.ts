/**
 * Sends requests from inside a namespace. Reads commands as JSON lines from standard input and writes events as JSON lines. It ends when
 * its input ends, so that it cannot outlive its parent.
 *
 * By hand it makes one request: `node client-program.ts tcp|udp ADDRESS PORT`.
 */
import process from 'node:process';
import { createInterface } from 'node:readline';
import { KeptConnection } from './client-connection.ts';
import { pace } from './client-pacer.ts';
import type { ClientCommand, ClientEvent } from './client-protocol.ts';
import { request } from './client-requests.ts';

const flushMs = 10;
let events: ClientEvent[] = [];
/** Functions that stop each running series. They resolve when the requests under way have ended. */
const series = new Map<number, () => Promise<unknown>>();
const [protocol, address = '', port = ''] = process.argv.slice(2);

if (protocol === 'tcp' || protocol === 'udp') {
  process.stdout.write(`${JSON.stringify(await request({ protocol, address, port: Number(port), timeoutMs: 1000 }))}\n`);
} else {
  createInterface({ input: process.stdin })
    .on('line', (line) => void execute(JSON.parse(line) as ClientCommand))
    .once('close', () => process.exit());
}

async function execute(command: ClientCommand): Promise<void> {
  switch (command.do) {
    case 'requests': {
      let left = command.count;
      const send = async (): Promise<void> => {
        while (left-- > 0) emit({ id: command.id, outcome: await request(command.target) });
      };
      await Promise.all(Array.from({ length: Math.min(command.parallel, command.count) }, send));
      return emit({ id: command.id, done: true });
    }
    case 'probe': {
      let port = command.firstPort;
      const underWay = new Set<Promise<void>>();
      const send = async (): Promise<void> => {
        const target = port === undefined ? command.target : { ...command.target, localPort: port++ };
        emit({ id: command.id, outcome: await request(target) });
      };
      const end = pace(command.intervalMs, () => {
        const sent = send().finally(() => underWay.delete(sent));
        underWay.add(sent);
      });
      series.set(command.id, () => {
        end();
        return Promise.all(underWay);
      });
      return;
    }
    case 'steady': {
      const connections = Array.from(
        { length: command.connections },
        () => new KeptConnection(command.target, (outcome) => emit({ id: command.id, outcome })),
      );
      let next = 0;
      const end = pace(command.intervalMs / connections.length, () => connections[next++ % connections.length]?.ask());
      series.set(command.id, () => {
        end();
        return Promise.all(connections.map((connection) => connection.end()));
      });
      return;
    }
    case 'stop': {
      const ended = series.get(command.probe)?.();
      series.delete(command.probe);
      await ended;
      emit({ id: command.probe, done: true });
    }
  }
}

/** Collects events and writes them together, because each write to a pipe waits for the kernel and wakes the reader. */
function emit(event: ClientEvent): void {
  if (events.push(event) === 1) setTimeout(flush, flushMs);
}

function flush(): void {
  process.stdout.write(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
  events = [];
}
