import { setTimeout as sleep } from 'node:timers/promises';
import { receiverAddress, receiverAsn, senderAddress, senderAsn } from '../addresses.ts';
import { BenchProcess, file, senderNamespace } from '../bench-network.ts';
import { run as runCommand } from '../../../lab/command.ts';
import { inNamespace } from '../../../lab/namespace.ts';
import type { Contender } from '../sender.ts';
import { tableDump } from './table-dump.ts';
import { versionOf } from './version.ts';

export function gobgp(): Contender {
  return {
    name: 'GoBGP',
    version: versionOf(['gobgpd', '--version']),
    how: '`gobgp mrt inject global`, which loses some; withdrawal by `gobgp global rib del all`',
    most: (slow) => (slow ? 500_000 : 100_000),
    async start(count) {
      const config = file('gobgpd.toml', `[global.config]\n  as = ${senderAsn}\n  router-id = "${senderAddress}"\n`);
      const process = new BenchProcess(senderNamespace, ['gobgpd', '-f', config, '--log-level', 'error']);
      const gobgp = async (...command: readonly string[]): Promise<string> => {
        const { stdout } = await runCommand(inNamespace(senderNamespace, ['gobgp', ...command]), { timeoutMs: 300_000 });
        return stdout;
      };
      const held = async (): Promise<number> => Number(/Destination: (\d+)/.exec(await gobgp('global', 'rib', 'summary'))?.[1] ?? 0);
      await answers(process, gobgp);
      let had = 0;
      if (count > 0) {
        await gobgp('mrt', 'inject', 'global', file('routes.mrt', tableDump(count)));
        // GoBGP continues to load prefixes after the command has ended.
        for (let before = -1; had !== before; had = await held()) {
          before = had;
          await sleep(500);
        }
      }
      return {
        pid: process.pid,
        count: had,
        async open() {
          await gobgp('neighbor', 'add', receiverAddress, 'as', String(receiverAsn));
        },
        async withdraw() {
          await gobgp('global', 'rib', 'del', 'all');
        },
        stop: () => process.kill(),
      };
    },
  };
}

async function answers(process: BenchProcess, gobgp: (...command: readonly string[]) => Promise<string>): Promise<void> {
  for (;;) {
    try {
      await gobgp('global');
      return;
    } catch {
      if (!process.running) throw new Error(`gobgpd ended: ${process.log()}`);
      await sleep(100);
    }
  }
}
