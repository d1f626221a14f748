import { connect, type Socket } from 'node:net';
import process from 'node:process';
import type { OpenConnection } from './open-connections.ts';

/** Opens connections to pods and keeps them. Every second one sends each 50 ms; the others are idle until all are asked. */
interface Kept {
  readonly socket: Socket;
  readonly address: string;
  pod: string;
  broken: boolean;
  answered: () => void;
}

const patience = 5_000;
let kept: Kept[] = [];

function open(address: string, port: number): Promise<void> {
  const socket = connect({ host: address, port, noDelay: true });
  const one: Kept = { socket, address, pod: '', broken: false, answered: () => undefined };
  kept.push(one);
  let text = '';
  socket.on('data', (data) => {
    text += data.toString();
    const lines = text.split('\n');
    text = lines.pop() ?? '';
    const last = lines.at(-1);
    if (last === undefined) return;
    one.pod = (JSON.parse(last) as { pod: string }).pod;
    one.answered();
  });
  socket.on('error', () => undefined);
  socket.on('close', () => (one.broken = true));
  return ask(one).then(() => undefined);
}

/** Resolves with whether an answer came. */
function ask(one: Kept): Promise<boolean> {
  return new Promise((resolve) => {
    if (one.broken) return resolve(false);
    const timer = setTimeout(() => resolve(false), patience);
    one.answered = () => {
      clearTimeout(timer);
      resolve(true);
    };
    one.socket.once('close', () => {
      clearTimeout(timer);
      resolve(false);
    });
    one.socket.write('who\n');
  });
}

setInterval(() => {
  for (const [at, { broken, socket, pod }] of kept.entries()) if (at % 2 === 0 && !broken && pod !== '') socket.write('who\n');
}, 50);

const methods: Record<string, (...args: never[]) => unknown> = {
  open: async (addresses: readonly string[], port: number, count: number) => {
    for (const { socket } of kept) socket.destroy();
    kept = [];
    await Promise.all(Array.from({ length: count }, (_, at) => open(addresses[at % addresses.length] ?? '', port)));
  },
  ask: () =>
    Promise.all(kept.map(async (one, at): Promise<OpenConnection> => ({ pod: one.pod, isIdle: at % 2 === 1, isAlive: await ask(one) }))),
};

process.on('message', ({ id, method, args }: { id: number; method: string; args: readonly unknown[] }) => {
  void Promise.resolve(methods[method]?.(...(args as never[]))).then((value) => process.send?.({ id, value }));
});
process.on('disconnect', () => process.exit());
