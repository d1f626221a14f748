import { parseArgs } from 'node:util';
import { endTogether } from '../../../test/lab/ends-together.ts';
import { Attempts } from '../../../test/bench/runner/attempts.ts';
import { conditionLines, conditions } from '../../../test/bench/runner/conditions.ts';
import { directory, searchFirst, setUp, tearDown } from '../../../test/bench/runner/bench-network.ts';
import { measureManyPeers, reportManyPeers, type ManyPeersRun } from './many-peers.ts';
import { measure, measureIdle, type Run } from './measure.ts';
import { measureHold, reportHold } from './hold.ts';
import { report, type Results } from './report.ts';
import type { Contender } from './sender.ts';
import { bird } from './senders/bird.ts';
import { exabgp } from './senders/exabgp.ts';
import { frr } from './senders/frr.ts';
import { gobgp } from './senders/gobgp.ts';
import { herald } from './senders/herald.ts';
import { measureSingleChange } from './single-change.ts';
import { rmSync } from 'node:fs';

/**
 * Announces /32 prefixes from Herald and other BGP speakers, one after another, to a bgpd of FRR, and measures time, memory and UPDATEs.
 *
 *   npm run bench:bgp                      10,000, 100,000 and 500,000 prefixes, three rounds
 *   npm run bench:bgp -- --quick           only 10,000, one round
 *   npm run bench:bgp -- --slow            also ExaBGP with 100,000 and GoBGP with 500,000, which takes minutes
 *   npm run bench:bgp -- --json            prints JSON
 *   npm run bench:bgp -- --rounds 5 --sizes 100000 --only Herald,BIRD
 *   npm run bench:bgp -- --peers 2,16,100,500,1000    one sender with many peers instead, 10,000 prefixes unless --sizes has another number
 *   npm run bench:bgp -- --hold                      a million routes in one call while a session with a hold time of 3 s is up; --sizes
 *   npm run bench:bgp -- --path /opt/bird/sbin        searches bird, bgpd, gobgpd, gobgp and exabgp there first; may be given several times
 */
const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    slow: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    sizes: { type: 'string' },
    only: { type: 'string' },
    peers: { type: 'string' },
    hold: { type: 'boolean', default: false },
    path: { type: 'string', multiple: true, default: [] },
  },
});
const sizes = values.sizes?.split(',').map(Number) ?? (values.quick ? [10_000] : [10_000, 100_000, 500_000]);
searchFirst(values.path);
const rounds = Number(values.rounds ?? (values.quick ? 1 : 3));
const contenders = [herald(), bird(), frr(), gobgp(), exabgp()].filter(({ name }) => values.only?.split(',').includes(name) ?? true);
const print = (text: string): void => void process.stderr.write(`${text}\n`);

const attempts = new Attempts(print);
endTogether();
process.on('exit', () => {
  tearDown();
  rmSync(directory, { recursive: true, force: true });
});

/** Says if a sender would take too long for this number of prefixes. */
const isTooSlow = ({ most }: Contender, size: number): boolean => size > (most?.(values.slow) ?? Infinity);

const versions = Object.fromEntries(contenders.map(({ name, version }) => [name, version]));
setUp();
if (values.hold) {
  const [size = 1_000_000] = values.sizes === undefined ? [1_000_000] : sizes;
  const rows = await measureHold(size);
  const results = { conditions: conditions(versions), size, rows };
  process.stdout.write(
    values.json ? `${JSON.stringify(results, undefined, 1)}\n` : `${conditionLines(results.conditions)}\n\n${reportHold(size, rows)}`,
  );
  process.exit(rows.some(({ flaps }) => flaps > 0) ? 1 : 0);
}
if (values.peers !== undefined) {
  const [size = 10_000] = values.sizes === undefined ? [10_000] : sizes;
  const manyRuns: ManyPeersRun[] = [];
  for (const peers of values.peers.split(',').map(Number)) {
    for (const contender of contenders) {
      const result = await attempts.row(`${contender.name} with ${peers} peers`, () => measureManyPeers(contender, peers, size));
      if (result === undefined) continue;
      manyRuns.push(result);
      print(
        `${contender.name} with ${peers} peers: ${(result.processorAnnounce / 1000).toFixed(2)} s of CPU, ${Math.round(result.aboveIdle)} MB`,
      );
    }
  }
  const { failed } = attempts;
  const text = [conditionLines(conditions(versions)), ...attempts.lines(), '', reportManyPeers(manyRuns)].join('\n');
  process.stdout.write(
    values.json ? `${JSON.stringify({ conditions: conditions(versions), runs: manyRuns, failed }, undefined, 1)}\n` : text,
  );
  process.exit(attempts.status);
}
const idle: Record<string, number> = {};
const runs: Run[] = [];
for (const contender of contenders) {
  const memory = await attempts.row(`${contender.name}, idle`, () => measureIdle(contender));
  if (memory !== undefined) idle[contender.name] = memory;
}
for (let round = 1; round <= rounds; round++) {
  for (const size of sizes) {
    for (const contender of contenders) {
      if (isTooSlow(contender, size)) continue;
      const result = await attempts.row(`${contender.name}, ${size} prefixes`, () => measure(contender, size));
      if (result === undefined) continue;
      runs.push(result);
      print(`round ${round}: ${contender.name} ${size}: ${Math.round(result.announce)} ms, withdrawn in ${Math.round(result.withdraw)} ms`);
    }
  }
}
const wantsHerald = contenders.some(({ name }) => name === 'Herald');
const singleChange = wantsHerald ? await measureSingleChange(values.quick ? 10_000 : 100_000, 1000) : undefined;
const results: Results = {
  conditions: conditions(versions),
  contenders: contenders.map(({ name, version, how }) => ({ name, version, how })),
  rounds,
  idle,
  runs,
  singleChange,
  failed: attempts.failed,
};
process.stdout.write(values.json ? `${JSON.stringify(results, undefined, 1)}\n` : report(results, attempts.lines()));
process.exit(attempts.status);
