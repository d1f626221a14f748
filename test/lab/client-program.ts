/**
 * Sends requests from inside a namespace. Reads commands as JSON lines from its input, writes events as JSON lines, and ends when the input
 * does, so that it cannot outlive whoever started it.
 *
 * Also usable by hand, for one request: `node client-program.ts tcp|udp ADDRESS PORT`.
 */
import { createSocket } from 'node:dgram';
import { connect } from 'node:net';
import process from 'node:process';
import { createInterface } from 'node:readline';
import type { ClientCommand, ClientEvent, Target } from './client-protocol.ts';
import type { Outcome } from './outcome.ts';

const probes = new Map<number, NodeJS.Timeout>();
const [protocol, address = '', port = ''] = process.argv.slice(2);

if (protocol === 'tcp' || protocol === 'udp') {
  process.stdout.write(`${JSON.stringify(await request({ protocol, address, port: Number(port), timeoutMs: 1000 }))}\n`);
} else {
  createInterface({ input: process.stdin })
    .on('line', (line) => void obey(JSON.parse(line) as ClientCommand))
    .once('close', () => process.exit());
}

async function obey(command: ClientCommand): Promise<void> {
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
      const send = async (): Promise<void> => emit({ id: command.id, outcome: await request(command.target) });
      probes.set(
        command.id,
        setInterval(() => void send(), command.intervalMs),
      );
      return;
    }
    case 'stop':
      clearInterval(probes.get(command.probe));
      probes.delete(command.probe);
      // Requests under way still have their outcome to report, at the latest when their time is up.
      setTimeout(() => emit({ id: command.probe, done: true }), command.afterMs);
  }
}

function emit(event: ClientEvent): void {
  process.stdout.write(`${JSON.stringify(event)}\n`);
}

/** One request from a fresh source port, unless the target says which. */
function request(target: Target): Promise<Outcome> {
  const start = performance.now();
  const at = performance.timeOrigin + start;
  return new Promise((resolve) => {
    const finish = (end: Promise<string>): void => {
      end.then(
        (text) =>
          resolve({
            ok: true,
            at,
            milliseconds: performance.now() - start,
            ...(JSON.parse(text) as { pod: string; client: string; clientPort: number }),
          }),
        (error: NodeJS.ErrnoException) =>
          resolve({ ok: false, at, milliseconds: performance.now() - start, error: error.code ?? error.message }),
      );
    };
    finish(target.protocol === 'tcp' ? requestTcp(target) : requestUdp(target));
  });
}

function requestTcp(target: Target): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: target.address,
      port: target.port,
      noDelay: true,
      ...(target.localPort === undefined ? {} : { localPort: target.localPort }),
    });
    const timer = setTimeout(() => fail(new Error('TIMEOUT')), target.timeoutMs);
    const fail = (error: Error): void => {
      clearTimeout(timer);
      socket.destroy();
      reject(error);
    };
    let text = '';
    socket.once('connect', () => socket.write('who\n'));
    socket.on('error', fail);
    socket.once('close', () => fail(new Error('CLOSED')));
    socket.on('data', (data: Buffer) => {
      text += data.toString();
      if (!text.endsWith('\n')) return;
      clearTimeout(timer);
      socket.end();
      resolve(text);
    });
  });
}

function requestUdp(target: Target): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(target.address.includes(':') ? 'udp6' : 'udp4');
    const end = (settle: () => void): void => {
      clearTimeout(timer);
      socket.removeAllListeners();
      socket.on('error', () => undefined);
      socket.close();
      settle();
    };
    const timer = setTimeout(() => end(() => reject(new Error('TIMEOUT'))), target.timeoutMs);
    socket.on('error', (error) => end(() => reject(error)));
    socket.once('message', (data) => end(() => resolve(data.toString())));
    // A connected socket is told of ICMP errors: ECONNREFUSED and its kin.
    socket.bind(target.localPort ?? 0, () => {
      socket.connect(target.port, target.address, (error?: Error) => {
        if (error) end(() => reject(error));
        else socket.send('who');
      });
    });
  });
}
