import { connect } from 'node:net';
import { patience } from './until.ts';

/** The longest answer of a router in octets. 16 MB is many times a full table of this lab. */
const maximumAnswer = 16 * 1024 * 1024;

export class VtyError extends Error {
  readonly code = 'vty';

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'VtyError';
  }
}

/**
 * Sends one command to an FRR daemon over its vty socket, as vtysh does but without a process: half a millisecond instead of forty.
 *
 * The command ends with a zero octet. The answer ends with three zero octets and a status octet, 0 for success (FRR lib/vty.c,
 * vtysh_write).
 */
export function askVty(socketPath: string, command: string, timeoutMs = patience): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (why: string, cause?: Error): void => {
      socket.destroy();
      reject(new VtyError(`${socketPath}: ${command}: ${why}`, { cause }));
    };
    const parts: Buffer[] = [];
    let length = 0;
    const socket = connect(socketPath, () => socket.write(`${command}\0`));
    socket.setTimeout(timeoutMs, () => fail(`no answer within ${timeoutMs} ms`));
    socket.once('error', (error) => fail(error.message, error));
    socket.once('close', () => fail('closed before the answer was complete'));
    socket.on('data', (data: Buffer) => {
      parts.push(data);
      length += data.length;
      if (length > maximumAnswer) return fail(`an answer of more than ${maximumAnswer} octets`);
      if (length < 4) return;
      const answer = Buffer.concat(parts);
      if (answer.readUIntBE(length - 4, 3) !== 0) return parts.splice(0, parts.length, answer);
      const text = answer.toString('utf8', 0, length - 4);
      if (answer[length - 1] !== 0) return fail(`status ${answer[length - 1]}: ${text.trim()}`);
      socket.destroy();
      resolve(text);
    });
  });
}
