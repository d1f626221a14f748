import process from 'node:process';
import { parseArgs } from 'node:util';
import { endTogether } from '../../lab/ends-together.ts';
import { addresses, connections, count, probed, ProbeStage, type Family } from '../../lab/host/probe-stage.ts';
import { Attempts } from '../runner/attempts.ts';
import { conditionLines, conditions } from '../runner/conditions.ts';
import { frr } from '../runner/versions.ts';

const help = `npm run bench:probes -- [--json]

  Probes each port of an agent in the lab ${count} times from the node itself and ${count} times from another address, while ${addresses} addresses keep ${connections}
  connections to that port. Needs root. Exits with 1 when a probe is not answered within a second.`;

const { values } = parseArgs({ options: { help: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } } });
if (values.help) {
  console.log(help);
  process.exit();
}
/** The kubelet and most load balancers give up after a second. */
const boundMilliseconds = 1_000;

interface Row {
  readonly what: string;
  readonly port: number;
  readonly family: Family;
  readonly answers: number;
  /** Milliseconds. */
  readonly slowestFromNode: number;
  readonly slowestFromElsewhere: number;
  readonly failures: readonly string[];
}

endTogether();
const attempts = new Attempts((text) => void process.stderr.write(`${text}\n`));
const rows: Row[] = [];
const stage = await ProbeStage.start();
try {
  for (const family of ['ipv4', 'ipv6'] as const) {
    for (const [what, port, path] of probed) {
      const found = await attempts.row(`Herald, port ${port}, ${family}`, () => stage.flood(family, port, path));
      if (found === undefined) continue;
      const { own, foreign } = found;
      rows.push({
        what,
        port,
        family,
        answers: own.answers + foreign.answers,
        slowestFromNode: own.slowest,
        slowestFromElsewhere: foreign.slowest,
        failures: [...own.failures, ...foreign.failures],
      });
    }
  }
} finally {
  await stage.stop();
}
const late = rows.filter(
  ({ answers, slowestFromNode, slowestFromElsewhere }) =>
    answers < 2 * count || Math.max(slowestFromNode, slowestFromElsewhere) > boundMilliseconds,
);
if (values.json) console.log(JSON.stringify({ conditions: conditions(frr()), rows, failed: attempts.failed }));
else {
  console.log(`${conditionLines(conditions(frr()))}\n`);
  console.log('| what answers | port | family | answers | slowest, from the node | slowest, from elsewhere |');
  console.log('|---|---:|---|---:|---:|---:|');
  for (const row of rows) {
    const cells = [row.port, row.family, `${row.answers} of ${2 * count}`, `${row.slowestFromNode} ms`, `${row.slowestFromElsewhere} ms`];
    console.log(`| ${row.what} | ${cells.join(' | ')} |`);
  }
  for (const line of attempts.lines()) console.log(line);
}
for (const { what, port, family, failures } of late)
  console.error(`${what}, port ${port}, ${family}: not every probe was answered within a second ${failures.slice(0, 3).join('; ')}`);
process.exit(late.length > 0 ? 1 : attempts.status);
