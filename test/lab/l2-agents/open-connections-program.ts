import { connect, type Socket } from 'node:net';
import process from 'node:process';
import { defined } from '../../../src/lang/defined.ts';
import type { OpenConnection } from './open-connections.ts';

/** Opens connections to pods and keeps them. Half of those to each address send every 50 ms; the others are idle until all are asked. */
interface Kept {
  readonly socket: Socket;
  readonly address: string;
  pod: string;
  /** Why it ended. */
  broken?: string;
  answered: () => void;
}

const patience = 5_000;
let kept: Kept[] = [];

const sends = (at: number): boolean => at % 4 < 2;

async function open(address: string, port: number): Promise<void> {
  const socket = connect({ host: address, port, noDelay: true });
  const one: Kept = { socket, address, pod: '', answered: () => undefined };
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
  socket.on('error', ({ code = 'error' }: NodeJS.ErrnoException) => (one.broken = code));
  socket.on('close', () => (one.broken ??= 'closed'));
  await ask(one);
}

/** Resolves with undefined for an answer, or with the reason why there is none. */
function ask(one: Kept): Promise<string | undefined> {
  return new Promise((resolve) => {
    if (one.broken !== undefined) return resolve(one.broken);
    const settle = (lost: string | undefined): void => {
      clearTimeout(timer);
      resolve(lost);
    };
    const timer = setTimeout(() => settle('no answer'), patience);
    one.answered = () => settle(undefined);
    one.socket.once('close', () => settle(one.broken));
    one.socket.write('who\n');
  });
}

setInterval(() => {
  for (const [at, { broken, socket, pod }] of kept.entries()) if (sends(at) && broken === undefined && pod !== '') socket.write('who\n');
}, 50);

const methods: Record<string, (...args: never[]) => unknown> = {
  open: async (addresses: readonly string[], port: number, count: number) => {
    for (const { socket } of kept) socket.destroy();
    kept = [];
    await Promise.all(Array.from({ length: count }, (_, at) => open(addresses[at % addresses.length] ?? '', port)));
  },
  ask: () =>
    Promise.all(
      kept.map(async (one, at): Promise<OpenConnection> => {
        const lost = await ask(one);
        return { address: one.address, pod: one.pod, isIdle: !sends(at), ...defined({ lost }) };
      }),
    ),
};

process.on('message', ({ id, method, args }: { id: number; method: string; args: readonly unknown[] }) => {
  void Promise.resolve(methods[method]?.(...(args as never[]))).then((value) => process.send?.({ id, value }));
});
process.on('disconnect', () => process.exit());
