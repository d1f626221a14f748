/**
 * Holds many TCP connections open in the client's namespace. Reads commands as JSON lines and answers each with one line. Ends when its
 * input ends.
 *
 *   {"do":"open","group":"a","address":"198.51.100.10","port":80,"count":1000}    {"open":1000}
 *   {"do":"ask","timeoutMs":20000}    {"a":[true,false,...]}: for each connection of each group, true if the same pod as before still answers
 */
import { connect, type Socket } from 'node:net';
import process from 'node:process';
import { createInterface } from 'node:readline';
import type { HoldCommand } from './held-connections.ts';

interface HeldConnection {
  readonly socket: Socket;
  /** The pod that answered first. */
  pod: string | undefined;
  dead: boolean;
  waiting: ((alive: boolean) => void) | undefined;
}

/** The number of connections opened at a time, so that no queue of SYNs overflows. */
const parallel = 50;
const groups = new Map<string, HeldConnection[]>();

for await (const line of createInterface({ input: process.stdin })) {
  const answer = await execute(JSON.parse(line) as HoldCommand);
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
process.exit();

async function execute(command: HoldCommand): Promise<object> {
  if (command.do === 'ask') {
    const asked = [...groups].map(
      async ([group, held]) => [group, await Promise.all(held.map((one) => ask(one, command.timeoutMs)))] as const,
    );
    return Object.fromEntries(await Promise.all(asked));
  }
  const held: HeldConnection[] = [];
  groups.set(command.group, held);
  let left = command.count;
  const openSome = async (): Promise<void> => {
    while (left-- > 0) held.push(await open(command.address, command.port));
  };
  await Promise.all(Array.from({ length: parallel }, openSome));
  return { open: held.filter(({ dead }) => !dead).length };
}

function open(host: string, port: number): Promise<HeldConnection> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, noDelay: true });
    const held: HeldConnection = { socket, pod: undefined, dead: false, waiting: undefined };
    let text = '';
    const die = (): void => {
      held.dead = true;
      held.waiting?.(false);
      resolve(held);
    };
    socket.once('connect', () => resolve(held));
    socket.on('error', die);
    socket.on('close', die);
    socket.on('data', (data: Buffer) => {
      text += data.toString();
      if (!text.endsWith('\n')) return;
      const { pod } = JSON.parse(text.split('\n')[0] ?? '') as { pod: string };
      text = '';
      held.pod ??= pod;
      held.waiting?.(held.pod === pod);
    });
  });
}

/** Asks over a connection. Without an answer in time the connection counts as lost. */
function ask(held: HeldConnection, timeoutMs: number): Promise<boolean> {
  if (held.dead) return Promise.resolve(false);
  return new Promise((resolve) => {
    const end = (alive: boolean): void => {
      clearTimeout(timer);
      held.waiting = undefined;
      if (!alive) {
        held.dead = true;
        held.socket.destroy();
      }
      resolve(alive);
    };
    const timer = setTimeout(() => end(false), timeoutMs);
    held.waiting = end;
    held.socket.write('who\n');
  });
}
