import { execFileSync } from 'node:child_process';
import { cpus, loadavg, release } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { median } from '../bgp/statistics.ts';
import type { Figures } from './measure.ts';

/**
 * Loads Services into an empty kernel by netlink and by the nft command, in turns, each in a process and a network namespace of
 * its own.
 *
 *   npm run bench:dataplane                      1,000 and 10,000 Services, three rounds; root
 *   npm run bench:dataplane -- --quick           one round
 *   npm run bench:dataplane -- --sizes 50000 --only netlink
 *   npm run bench:dataplane -- --json            for machines
 */
const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    sizes: { type: 'string' },
    only: { type: 'string' },
  },
});
const sizes = values.sizes?.split(',').map(Number) ?? [1_000, 10_000];
const rounds = Number(values.rounds ?? (values.quick ? 1 : 3));
const executors = ['netlink', 'nft command'].filter((name) => values.only?.split(',').includes(name) ?? true);

function measure(executor: string, services: number): Figures {
  const namespace = `hn-bench-${process.pid}`;
  execFileSync('ip', ['netns', 'add', namespace]);
  try {
    const program = join(import.meta.dirname, 'measure.ts');
    const changes = executor === 'netlink' ? '200' : '20';
    const output = execFileSync(process.execPath, [program, executor, namespace, String(services), changes], { encoding: 'utf8' });
    return JSON.parse(output) as Figures;
  } finally {
    execFileSync('ip', ['netns', 'del', namespace]);
  }
}

const runs: Figures[] = [];
for (let round = 1; round <= rounds; round++) {
  for (const size of sizes) {
    for (const executor of executors) {
      const figures = measure(executor, size);
      runs.push(figures);
      process.stderr.write(`round ${round}: ${executor} ${size}: ${Math.round(figures.load)} ms\n`);
    }
  }
}

function report(): string {
  const lines = [
    `${new Date().toISOString().slice(0, 10)}. ${cpus().length} processors ${cpus()[0]?.model ?? ''}, Linux ${release()}, Node.js ${process.versions.node}.`,
    `Load average at the end: ${loadavg()
      .map((load) => load.toFixed(1))
      .join(', ')}. ${rounds} ${rounds === 1 ? 'round' : 'rounds'}; minimum / median.`,
    '',
    '| Services | elements | by | load, ms | adopt, ms | change one endpoint, ms | add one Service, ms | memory, MB |',
    '|---:|---:|---|---:|---:|---:|---:|---:|',
  ];
  for (const size of sizes) {
    for (const executor of executors) {
      const mine = runs.filter((run) => run.executor === executor && run.services === size);
      const both = (figure: (run: Figures) => number, digits = 0): string =>
        [Math.min(...mine.map(figure)), median(mine.map(figure))].map((value) => value.toFixed(digits)).join(' / ');
      const cells = [
        both(({ load }) => load),
        both(({ adopt }) => adopt),
        both(({ change }) => change, 2),
        both(({ add }) => add, 2),
        both(({ memory }) => memory),
      ];
      lines.push(`| ${size} | ${mine[0]?.elements ?? 0} | ${executor} | ${cells.join(' | ')} |`);
    }
  }
  return `${lines.join('\n')}\n`;
}

process.stdout.write(values.json ? `${JSON.stringify(runs, undefined, 1)}\n` : report());
