/**
 * Announces the routes that a program prints in ExaBGP's text API, and answers each line by `done` or `error`. So a program that was written
 * for ExaBGP runs unchanged, such as its health check:
 *
 *   node exabgp-process.ts --asn 64512 --router-id 10.0.0.11 --peer 10.0.0.1 --peer-asn 65001 -- \
 *     python3 -m exabgp healthcheck --ip 192.0.2.53/32 --command 'dig @127.0.0.1 .' --withdraw-on-down
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { Speaker } from 'herald/bgp';
import { parseCommand } from './exabgp-command.ts';

const text = { type: 'string' } as const;
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { asn: text, 'router-id': text, peer: { type: 'string', multiple: true }, 'peer-asn': text },
});
const [program = '', ...args] = positionals;

const speaker = new Speaker({ asn: Number(values.asn), routerId: values['router-id'] ?? '' });
for (const address of values.peer ?? []) {
  speaker.addPeer({ address, peerAsn: Number(values['peer-asn']), holdTime: 9, addPathSend: [4, 6] });
}

const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
process.once('SIGTERM', () => child.kill());
for await (const line of createInterface(child.stdout)) child.stdin.write(`${carryOut(line)}\n`);
await speaker.stop({ message: 'the program ended' });

function carryOut(line: string): 'done' | 'error' {
  try {
    const command = parseCommand(line);
    if ('withdraw' in command) speaker.rib.withdraw(command.withdraw);
    else speaker.rib.announce(command.announce);
    return 'done';
  } catch (error) {
    console.error(`${line}: ${(error as Error).message}`);
    return 'error';
  }
}
