import { setTimeout as sleep } from 'node:timers/promises';
import { manyPeersAddress, receiverAddress, receiverAsn, senderAddress, senderAsn } from '../addresses.ts';
import { BenchProcess, file, senderNamespace } from '../../../../test/bench/runner/bench-network.ts';
import { run as runCommand } from '../../../../test/lab/command.ts';
import { inNamespace } from '../../../../test/lab/namespace.ts';
import type { Contender } from '../sender.ts';
import { tableDump } from './table-dump.ts';
import { versionOf } from '../../../../test/bench/runner/versions.ts';

export function gobgp(): Contender {
  return {
    name: 'GoBGP',
    version: versionOf(['gobgpd', '--version']),
    how: '`gobgp mrt inject global`, which loses some; withdrawal by `gobgp global rib del all`',
    most: (slow) => (slow ? 500_000 : 100_000),
    mostForMany: 1_600_000,
    async start(count) {
      const process = await startGobgp('');
      const had = count > 0 ? await load(count) : 0;
      return {
        pid: process.pid,
        count: had,
        async open() {
          await command('neighbor', 'add', receiverAddress, 'as', String(receiverAsn));
        },
        async withdraw() {
          await command('global', 'rib', 'del', 'all');
        },
        stop: () => process.kill(),
      };
    },
    async startMany(peers, count) {
      const neighbors = Array.from(
        { length: peers },
        (_, n) => `[[neighbors]]
  [neighbors.config]
    neighbor-address = "${manyPeersAddress(n)}"
    peer-as = ${receiverAsn}
  [neighbors.timers.config]
    connect-retry = 1
  [neighbors.ebgp-multihop.config]
    enabled = true
    multihop-ttl = 2
`,
      );
      const process = await startGobgp(neighbors.join(''));
      return {
        pid: process.pid,
        announce: () => load(count),
        async withdraw() {
          await command('global', 'rib', 'del', 'all');
        },
        stop: () => process.kill(),
      };
    },
  };
}

async function startGobgp(neighbors: string): Promise<BenchProcess> {
  const config = file('gobgpd.toml', `[global.config]\n  as = ${senderAsn}\n  router-id = "${senderAddress}"\n${neighbors}`);
  const process = new BenchProcess(senderNamespace, ['gobgpd', '-f', config, '--log-level', 'error']);
  await answers(process);
  return process;
}

async function command(...argv: readonly string[]): Promise<string> {
  const { stdout } = await runCommand(inNamespace(senderNamespace, ['gobgp', ...argv]), { timeoutMs: 300_000 });
  return stdout;
}

/** Loads prefixes. Returns how many GoBGP has. */
async function load(count: number): Promise<number> {
  await command('mrt', 'inject', 'global', file('routes.mrt', tableDump(count)));
  let had = 0;
  // GoBGP continues to load prefixes after the command has ended.
  for (let before = -1; had !== before; had = await held()) {
    before = had;
    await sleep(500);
  }
  return had;
}

async function held(): Promise<number> {
  return Number(/Destination: (\d+)/.exec(await command('global', 'rib', 'summary'))?.[1] ?? 0);
}

async function answers(process: BenchProcess): Promise<void> {
  for (;;) {
    try {
      await command('global');
      return;
    } catch {
      if (!process.running) throw new Error(`gobgpd ended: ${process.log()}`);
      await sleep(100);
    }
  }
}
