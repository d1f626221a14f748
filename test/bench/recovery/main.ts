import process from 'node:process';
import { parseArgs } from 'node:util';
import { endTogether } from '../../lab/ends-together.ts';
import { conditionLines, conditions } from '../runner/conditions.ts';
import { frr } from '../runner/versions.ts';
import { terms } from './bounds.ts';
import { cases } from './cases.ts';
import { measureRecovery, type Result, type Row } from './measure.ts';

const help = `npm run bench:recovery -- [options]

  Measures how long two nodes and two ToRs (FRR) need to recover from faults between them, and compares it with a bound: the sum of
  the timers that must expire. Each case runs several times. A client sends a hundred requests a second, half of them over IPv6. Needs
  root. Exits with 1 when a bound is exceeded, or a request is lost that began after the recovery. Other work on the machine can cause a
  bound to be exceeded, so run it on a quiet one.

  --times N         repetitions of each case, default 5; fewer for cases that take long
  --quick           run each case once, in about two minutes instead of ten
  --only N,...      cases by number:
${cases.map(({ name }, index) => `                    ${String(index + 1).padStart(2)}  ${name}`).join('\n')}
  --json            print JSON

  npm run bench:recovery -- --only 4,5 --times 20`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    times: { type: 'string' },
    only: { type: 'string' },
  },
});
if (values.help) {
  console.log(help);
  process.exit();
}
const times = Number(values.times ?? (values.quick ? 1 : 5));
if (!Number.isInteger(times) || times < 1 || times > 1000) refuse(`--times ${values.times}: a number from 1 to 1000`);
const chosen = values.only === undefined ? cases : values.only.split(',').map((text) => cases[Number(text) - 1]);
if (!chosen.every((one) => one !== undefined)) refuse(`--only ${values.only}: numbers from 1 to ${cases.length}, with commas between them`);

endTogether();
const { rows, requests } = await measureRecovery(chosen, times, (text) => void process.stderr.write(`${text}\n`));
if (values.json) console.log(JSON.stringify({ conditions: conditions(frr()), rows, requests }));
else print({ rows, requests });
const broken = rows.filter(({ most, bound }) => !(most <= bound));
const late = requests.filter((one) => one.late > 0);
for (const row of broken)
  console.error(`bound exceeded: ${row.name}: ${row.what} after ${seconds(row.most)}, not within ${seconds(row.bound)}`);
for (const one of late) console.error(`${one.name}: ${one.late} requests lost that began after the recovery`);
process.exit(broken.length + late.length === 0 ? 0 : 1);

function print(result: Result): void {
  console.log(`${conditionLines(conditions(frr()))}\n`);
  console.log('| what fails | until | times | least | median | most | bound | sum of | requests lost |');
  console.log('|---|---|---:|---:|---:|---:|---:|---|---:|');
  for (const row of result.rows) console.log(`| ${cells(row, result).join(' | ')} |`);
  console.log('');
  for (const { name, seconds: length, why } of used(result.rows)) console.log(`- ${name}, ${length} s: ${why}`);
}

function cells(row: Row, result: Result): string[] {
  const isFirst = result.rows.find(({ name }) => name === row.name) === row;
  const lost = result.requests.find(({ name }) => name === row.name);
  const figures = [row.least, row.median, row.most, row.bound].map(seconds);
  const sum = row.terms.map((name) => terms[name].name).join(' + ');
  const streamed = isFirst && lost !== undefined ? `${lost.lost} of ${lost.sent}` : '';
  return [isFirst ? row.name : '', row.what, String(row.times.length), ...figures, sum, streamed];
}

function used(list: readonly Row[]): (typeof terms)[keyof typeof terms][] {
  return [...new Set(list.flatMap((row) => row.terms))].map((name) => terms[name]);
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}

function refuse(problem: string): never {
  console.error(problem);
  process.exit(2);
}
