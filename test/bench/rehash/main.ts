import process from 'node:process';
import { parseArgs } from 'node:util';
import { endTogether } from '../../lab/ends-together.ts';
import { conditionLines, conditions } from '../runner/conditions.ts';
import { frr } from '../runner/versions.ts';
import { measureRehash, type Row } from './measure.ts';

const help = `npm run bench:rehash -- [options]

  Counts the long-lived TCP connections that survive when one of three nodes behind two ToRs is lost and when it returns: with direct server
  return and consistent hashing, and with translation and random choice, in the same run. Needs root. Exits with 1 when the first is not better.

  --connections N   number for each row of the table, before the loss and again while the node is away; default 1000
  --json            print JSON

  npm run bench:rehash -- --connections 100`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    connections: { type: 'string', default: '1000' },
  },
});
if (values.help) {
  console.log(help);
  process.exit();
}
const connections = Number(values.connections);
if (!Number.isInteger(connections) || connections < 1 || connections > 2000) {
  console.error(`--connections ${values.connections}: a number from 1 to 2000`);
  process.exit(2);
}

/**
 * Bounds for connections to pods that still exist. Direct server return keeps all but a few. Translation keeps about half or two thirds.
 */
const [leastDirect, leastRatio] = [0.95, 1.3];

endTogether();
const rows = await measureRehash(connections, (text) => void process.stderr.write(`${text}\n`));
if (values.json) console.log(JSON.stringify({ conditions: conditions(frr()), connections, rows }));
else print(rows);
const wrong = rows.filter(({ pods, balancing }) => pods === 'not on the lost node' && balancing.startsWith('direct')).filter(isWorse);
for (const { family } of wrong) console.error(`IPv${family}: direct server return keeps too few connections`);
process.exit(wrong.length === 0 ? 0 : 1);

function isWorse({ family, pods, opened, afterReturn }: Row): boolean {
  const beside = rows.find((row) => row.family === family && row.pods === pods && row.balancing.startsWith('translation'));
  const translated = beside === undefined ? 0 : beside.afterReturn / beside.opened;
  const direct = afterReturn / opened;
  return direct < leastDirect || direct < leastRatio * translated;
}

function print(list: readonly Row[]): void {
  console.log(`${conditionLines(conditions(frr()))}\n`);
  console.log('| balancing | pods | family | open | after the loss | after the return | opened meanwhile | of these after the return |');
  console.log('|---|---|---|---:|---:|---:|---:|---:|');
  for (const row of list) {
    const cells = [row.opened, row.afterLoss, row.afterReturn, row.openedAway, row.awayAfterReturn];
    console.log(`| ${row.balancing} | ${row.pods} | IPv${row.family} | ${cells.join(' | ')} |`);
  }
}
