/** See `help`. */
import { rmSync } from 'node:fs';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { endTogether } from '../../lab/ends-together.ts';
import { directory } from '../runner/bench-network.ts';
import { Attempts } from '../runner/attempts.ts';
import { conditionLines, conditions } from '../runner/conditions.ts';
import { frr } from '../runner/versions.ts';
import { measureChurn } from './churn.ts';
import { measureRest } from './rest.ts';
import { measureLook } from './look.ts';
import { missingSpeaker } from './metallb.ts';
import { measureRestart, measureSpeakerRestart } from './restart.ts';
import type { SourceName } from './stage.ts';

const help = `npm run bench:agent -- [options]

  Measures one agent with sessions over IPv4 and IPv6 to FRR: its memory, processor time and wakeups while nothing changes; the memory after
  many Services were created and deleted several times; what looking at the connections of clients costs; and the time and processor time until FRR has all routes again after kill -9, beside
  MetalLB's speaker. Needs root. \`npm run build:program\` first measures what the container image runs, else the sources run.

  --only PART,...   rest, look, churn, restart (default all)
  --source NAME,... for rest and restart: directory, API-server (default both; API-server needs scripts/setup-conformance.sh
                    kube-apiserver etcd; with metallb-speaker, MetalLB's speaker restarts in the same run)
  --seconds N       of rest, and of each period of look, which needs 120 (default 120)
  --cycles N        of churn (default 7)
  --services N      of churn (default 1000)
  --json            for machines`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    only: { type: 'string', default: 'rest,look,churn,restart' },
    source: { type: 'string', default: 'directory,API-server' },
    seconds: { type: 'string', default: '120' },
    cycles: { type: 'string', default: '7' },
    services: { type: 'string', default: '1000' },
  },
});
if (values.help) {
  console.log(help);
  process.exit();
}
endTogether();
// It has the logs of FRR.
process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
// Programs that run until they are killed do not keep this process alive.
setInterval(() => undefined, 1_000);
const attempts = new Attempts((text) => void process.stderr.write(`${text}\n`));
const parts = new Set(values.only.split(','));
const [seconds, cycles, services] = [values.seconds, values.cycles, values.services].map(Number) as [number, number, number];

const sources = values.source.split(',').map((name): SourceName => (name === 'directory' ? 'directory' : 'API server'));

const rest = [];
for (const source of parts.has('rest') ? sources : []) {
  const row = await attempts.row(`Herald at rest, ${source}`, () => measureRest(source, seconds));
  if (row !== undefined) rest.push(row);
}
const look = parts.has('look') ? await attempts.row('Herald, look', () => measureLook(seconds)) : undefined;
const churn = parts.has('churn') ? await attempts.row('Herald, churn', () => measureChurn(cycles, services)) : undefined;
const restart = [];
for (const source of parts.has('restart') ? sources : []) {
  restart.push(...((await attempts.row(`Herald, restart, ${source}`, () => measureRestart(source, 500, 3))) ?? []));
  if (source === 'directory') continue;
  const missing = missingSpeaker();
  if (missing === undefined)
    restart.push(...((await attempts.row("MetalLB's speaker, restart", () => measureSpeakerRestart(500, 3))) ?? []));
  else process.stderr.write(`MetalLB's speaker is left out: ${missing}\n`);
}

const under = conditions(frr());
if (values.json) console.log(JSON.stringify({ conditions: under, rest, look, churn, restart, failed: attempts.failed }));
else {
  console.log([conditionLines(under), ...attempts.lines()].join('\n'));
  for (const rows of [rest, look, churn, restart]) if (rows !== undefined && rows.length > 0) console.table(rows);
}
process.exit(attempts.status);
