import { loadavg } from 'node:os';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { terms } from './bounds.ts';
import { cases } from './cases.ts';
import { measureRecovery, type Result, type Row } from './measure.ts';

const help = `npm run bench:recovery -- [options]

  How long two nodes and two switches (FRR) need to recover from what can fail between them, each case several times, beside its bound: the sum of
  the timers that have to run out. A client sends a hundred requests a second meanwhile, half of them over IPv6. Needs root. Exits with 1
  where a bound is broken, or a request is lost that was begun after all was as before. On a machine that is busy with other work, bounds
  are broken by that: a quiet one has nothing to do with them.

  --times N         each case, default 5; those that take long less often
  --quick           each case once, about two minutes instead of ten
  --only N,...      cases by number:
${cases.map(({ name }, index) => `                    ${String(index + 1).padStart(2)}  ${name}`).join('\n')}
  --json            for machines

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

const { rows, requests } = await measureRecovery(chosen, times, (text) => void process.stderr.write(`${text}\n`));
if (values.json) console.log(JSON.stringify({ load: loadavg(), rows, requests }));
else print({ rows, requests });
const broken = rows.filter(({ most, bound }) => !(most <= bound));
const late = requests.filter((one) => one.late > 0);
for (const row of broken)
  console.error(`bound broken: ${row.name}: ${row.what} after ${seconds(row.most)}, not within ${seconds(row.bound)}`);
for (const one of late) console.error(`${one.name}: ${one.late} requests lost that were begun after all was as before`);
process.exit(broken.length + late.length === 0 ? 0 : 1);

function print(result: Result): void {
  const load = loadavg().map((value) => value.toFixed(1));
  console.log(`${new Date().toISOString().slice(0, 10)}. Load average at the end: ${load.join(', ')}.\n`);
  console.log('| what fails | until | times | least | median | most | bound | which is | requests lost |');
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
