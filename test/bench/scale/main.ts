/** See `help`. */
import process from 'node:process';
import { parseArgs } from 'node:util';
import { endTogether } from '../../lab/ends-together.ts';
import { Attempts } from '../runner/attempts.ts';
import { conditionLines, conditions } from '../runner/conditions.ts';
import { programs } from '../runner/versions.ts';
import { writeCharts } from './charts.ts';
import { exponentsOf } from './curves.ts';
import { printReport } from './report.ts';
import type { Results, SizeResult } from './results.ts';
import { runSize } from './run-size.ts';
import { halved } from './size.ts';

const help = `npm run bench:scale -- [options]

  Measures what Herald costs an API server, and what its agents cost, in clusters of growing size: a real kube-apiserver and etcd, real
  controllers, some real agents, the other agents recorded, and kube-proxy beside them. N nodes have 10 N Services and 100 N endpoints.
  Needs root and the programs of scripts/setup-conformance.sh. Agents run from the bundle of npm run build:program where there is one.

  --nodes N,...     sizes (default 250,500,1000,2500,5000), as far as the machine goes
  --agents N        real agents (default 2)
  --recorded N      most recorded agents (default: all other nodes have one). With fewer, the objects keep their number, and what all
                    agents cost together is not reported
  --kube-proxy-up-to N
                    kube-proxy runs with at most N nodes (default 2500: with 5,000 its first transaction takes more than 19 minutes)
  --changes N       changes of endpoints a second (default 100)
  --services N      new Services a second, in their phase (default 1)
  --seconds N       length of each measured phase (default 30)
  --quick           20 and 40 nodes and short phases, to see that the bench works
  --svg FOLDER      writes the curves there
  --json            for machines

  npm run bench:scale -- --quick
  npm run bench:scale -- --nodes 250,500 --changes 20
  npm run bench:scale -- --nodes 5000 --recorded 10 --seconds 15      50,000 Services and 500,000 endpoints, 12 agents`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    nodes: { type: 'string' },
    agents: { type: 'string', default: '2' },
    recorded: { type: 'string' },
    'kube-proxy-up-to': { type: 'string', default: '2500' },
    changes: { type: 'string', default: '100' },
    services: { type: 'string', default: '1' },
    seconds: { type: 'string' },
    svg: { type: 'string' },
  },
});
if (values.help) {
  console.log(help);
  process.exit();
}
const sizes = (values.nodes ?? (values.quick ? '20,40' : '250,500,1000,2500,5000')).split(',').map(Number);
const seconds = Number(values.seconds ?? (values.quick ? 10 : 30));
const note = (text: string): void => void process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);
const attempts = new Attempts(note);
const options = {
  realAgents: Number(values.agents),
  mostRecorded: values.recorded === undefined ? undefined : Number(values.recorded),
  mostNodesOfKubeProxy: Number(values['kube-proxy-up-to']),
  changesPerSecond: Number(values.changes),
  servicesPerSecond: Number(values.services),
  seconds,
  note,
  attempt: <T>(row: string, measure: () => Promise<T>): Promise<T | undefined> => attempts.row(row, measure),
};
const smallest = options.realAgents + 3;
if (sizes.some((nodes) => !(nodes >= smallest)))
  throw new Error(`at least ${smallest} nodes: the real agents, kube-proxy and two recorded agents`);

if (options.mostRecorded !== undefined && !(options.mostRecorded >= 1))
  throw new Error('--recorded: at least one agent, with which the real ones are compared');

endTogether();
// Children of the cluster do not keep this process alive.
const alive = setInterval(() => undefined, 1000);
const found: SizeResult[] = [];
const notes: string[] = [];
for (let nodes = sizes.shift(); nodes !== undefined; nodes = sizes.shift()) {
  const result = await attempts.row(`Herald, ${nodes} nodes`, () => runSize({ ...options, nodes: nodes ?? 0 }));
  if (result !== undefined) {
    found.push(result);
    // A bench of hours that is ended loses only the size that it measures.
    options.note(`result: ${JSON.stringify(result)}`);
  }
  if (result?.tooLarge === false) continue;
  // Larger sizes would measure the machine. The curve goes on below, where it began.
  const largest = found.findLast(({ tooLarge }) => !tooLarge)?.nodes ?? 0;
  const half = halved(nodes);
  notes.push(
    result === undefined
      ? `${nodes} nodes were not measured, and no larger size was run.`
      : `This machine is too small for ${nodes} nodes at ${options.changesPerSecond} changes/s: it made ${Math.round(result.churn.changesPerSecond)} of them. Larger sizes were not run.`,
  );
  sizes.length = 0;
  if (half > largest && half >= smallest) sizes.push(half);
}
clearInterval(alive);
const measured = found.toSorted((a, b) => a.nodes - b.nodes);
const sound = measured.filter(({ tooLarge }) => !tooLarge);
const results: Results = {
  conditions: conditions(programs('kube-apiserver', 'etcd', 'kube-proxy')),
  changesPerSecond: options.changesPerSecond,
  sizes: measured,
  exponents: exponentsOf(sound),
  notes: [...notes, ...attempts.lines()],
};
if (values.json) console.log(JSON.stringify(results));
else {
  console.log(conditionLines(results.conditions));
  printReport(results);
}
if (values.svg !== undefined && sound.length > 0) writeCharts(values.svg, sound);
const differing = measured.some(({ deviations }) => deviations.length > 0);
if (differing)
  process.stderr.write('Real and recorded agents make different requests: the figures above are not those of a cluster of agents.\n');
process.exit(differing ? 1 : attempts.status);
