import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { manyPeersAddress, manyPeersSender, receiverAddress, receiverAsn, senderAddress, senderAsn } from '../addresses.ts';
import { BenchProcess, directory, file, senderNamespace } from '../../../../test/bench/runner/bench-network.ts';
import { prefixes, type Contender } from '../sender.ts';
import { versionOf } from '../../../../test/bench/runner/versions.ts';

export function bird(): Contender {
  return {
    name: 'BIRD',
    version: versionOf(['bird', '--version']),
    how: 'a static protocol, which is disabled for the withdrawal',
    async start(count) {
      const { process, send, stop } = await startBird(`
router id ${senderAddress};
protocol device {}
protocol static announced { ipv4; ${prefixes(count)
        .map((prefix) => `route ${prefix} blackhole;`)
        .join('\n')} }
protocol bgp tor {
  disabled;
  local ${senderAddress} as ${senderAsn};
  neighbor ${receiverAddress} as ${receiverAsn};
  connect delay time 1;
  ipv4 { import none; export all; next hop self; };
}
`);
      return { pid: process.pid, count, open: () => send('enable tor'), withdraw: () => send('disable announced'), stop };
    },
    async startMany(peers, count) {
      const { process, send, stop } = await startBird(`
router id ${senderAddress};
protocol device {}
protocol static announced { disabled; ipv4; ${prefixes(count)
        .map((prefix) => `route ${prefix} blackhole;`)
        .join('\n')} }
template bgp tor {
  local ${manyPeersSender} as ${senderAsn};
  multihop 2;
  connect delay time 1;
  ipv4 { import none; export all; next hop self; };
}
${Array.from({ length: peers }, (_, n) => `protocol bgp from tor { neighbor ${manyPeersAddress(n)} as ${receiverAsn}; }`).join('\n')}
`);
      return {
        pid: process.pid,
        announce: async () => {
          await send('enable announced');
          return count;
        },
        withdraw: () => send('disable announced'),
        stop,
      };
    },
  };
}

async function startBird(config: string): Promise<{
  readonly process: BenchProcess;
  readonly send: (command: string) => Promise<void>;
  readonly stop: () => Promise<void>;
}> {
  const socketPath = join(directory, 'bird.ctl');
  const process = new BenchProcess(senderNamespace, ['bird', '-f', '-c', file('bird.conf', config), '-s', socketPath]);
  const control = await openControl(process, socketPath);
  const send = (command: string): Promise<void> =>
    new Promise((resolve) => {
      control.once('data', () => resolve());
      control.write(`${command}\n`);
    });
  // BIRD answers only after it has read the configuration.
  await send('show status');
  return {
    process,
    send,
    stop: async () => {
      control.destroy();
      await process.kill();
    },
  };
}

/** Connects to the socket that birdc uses, and waits for the greeting. */
async function openControl(process: BenchProcess, path: string): Promise<Socket> {
  for (;;) {
    try {
      return await new Promise<Socket>((resolve, reject) => {
        const socket = connect(path);
        socket.once('error', reject);
        socket.once('data', () => resolve(socket));
      });
    } catch {
      if (!process.running) throw new Error(`bird ended: ${process.log()}`);
      await sleep(20);
    }
  }
}
