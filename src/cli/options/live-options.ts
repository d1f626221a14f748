import { Buffer } from 'node:buffer';
import { isAbsolute } from 'node:path';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { longestSocketPath } from '../../system/http/local-socket.ts';

/** Where the live API of a process is served (src/live/contract.ts). */
export interface LiveOptions {
  /** A path, or "none". */
  readonly socket: string;
  /** metrics: at the metrics port as well, which the API server's pod proxy reaches. */
  readonly live: 'metrics' | 'socket';
}

/** Two paths, because an agent and a controller may run on one host. */
export const agentSocket = '/run/herald/agent.sock';
export const controllerSocket = '/run/herald/controller.sock';

export function addLiveOptions(command: Command, of: 'agent' | 'controller'): Command {
  return command
    .addOption(
      new Option('--socket <path>', 'Unix socket where the owner may query what this process does, or none; its directory is created')
        .argParser(readSocket)
        .default(of === 'agent' ? agentSocket : controllerSocket),
    )
    .addOption(
      new Option('--live <where>', 'where else the same queries are answered: metrics, at the metrics port, or socket, nowhere else')
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
