import { Buffer } from 'node:buffer';
import { isAbsolute } from 'node:path';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { longestSocketPath } from '../../system/http/local-socket.ts';

/** Where the live API of a process is served (src/live/contract.ts). */
export interface LiveOptions {
  /** A path of a Unix socket, or "none". */
  readonly socket: string;
  /**
   * metrics: the live API is also served at the metrics port, where callers reach it through the API server's pod proxy. socket: at the
   * socket only.
   */
  readonly live: 'metrics' | 'socket';
}

/** The sockets have different paths, because an agent and a controller may run on one host. */
export const agentSocket = '/run/herald/agent.sock';
export const controllerSocket = '/run/herald/controller.sock';

export function addLiveOptions(command: Command, of: 'agent' | 'controller'): Command {
  return command
    .addOption(
      new Option(
        '--socket <path>',
        'Unix socket where the user that runs this process may query its state, or none; its directory is created',
      )
        .argParser(readSocket)
        .default(of === 'agent' ? agentSocket : controllerSocket),
    )
    .addOption(
      new Option('--live <where>', 'metrics: answer the same queries at the metrics port too; socket: answer them at the Unix socket only')
        .choices(['metrics', 'socket'])
        .default('metrics'),
    );
}

export function readSocket(text: string): string {
  if (text === 'none') return text;
  if (!isAbsolute(text) || Buffer.byteLength(text) > longestSocketPath)
    throw new InvalidArgumentError(`Write none, or an absolute path of at most ${longestSocketPath} octets, as in ${agentSocket}.`);
  return text;
}
