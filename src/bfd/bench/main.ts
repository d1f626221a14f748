import { parseArgs } from 'node:util';
import { endTogether } from '../../../test/lab/ends-together.ts';
import { conditionLines, conditions } from '../../../test/bench/runner/conditions.ts';
import { frr } from '../../../test/bench/runner/versions.ts';
import { measureCost, type CostResult } from './cost.ts';
import { measureDetection, type DetectionResult } from './detection.ts';
import { flapCases, measureFlaps, type FlapResult } from './flaps.ts';

const help = `npm run bench:bfd -- [options]

  Measures how often sessions with FRR's bfdd flap while our process is kept busy, how long a cut wire goes unnoticed, and the
  processor time of sessions. Needs root, and a machine that runs nothing else.

  --minutes N       minutes for each case of flaps (default 10)
  --quick           half a minute for each case of flaps, and a shorter run of the other parts
  --only PART,...   flaps, detection, cost (default: all)
  --case N,...      cases of flaps: 1 is 300 ms x 3, 2 is 50 ms x 3, 3 is 50 ms x 3 with real-time priority (default: all)
  --json            prints JSON`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    minutes: { type: 'string' },
    only: { type: 'string', default: 'flaps,detection,cost' },
    case: { type: 'string', default: '1,2,3' },
  },
});
if (values.help) {
  console.log(help);
  process.exit();
}
const parts = new Set(values.only.split(','));
const minutes = Number(values.minutes ?? (values.quick ? 0.5 : 10));
const note = (text: string): void => void process.stderr.write(`${text}\n`);

endTogether();
const flaps: FlapResult[] = [];
const detection: DetectionResult[] = [];
const cost: CostResult[] = [];

if (parts.has('detection')) {
  for (const interval of [300, 100, 50]) {
    note(`detection at ${interval} ms x 3`);
    detection.push(await measureDetection(interval, values.quick ? 3 : 20));
  }
}
if (parts.has('cost')) {
  for (const [sessions, interval] of [
    [10, 50],
    [100, 300],
    [300, 300],
    [1000, 300],
  ] as const) {
    note(`${sessions} sessions at ${interval} ms`);
    cost.push(await measureCost(sessions, interval));
  }
}
if (parts.has('flaps')) {
  const chosen = new Set(values.case.split(',').map((number) => flapCases[Number(number) - 1]));
  for (const flapCase of flapCases.filter((one) => chosen.has(one))) {
    note(`${flapCase.name}, ${minutes} minutes`);
    flaps.push(await measureFlaps(flapCase, minutes));
  }
}

const results = { conditions: conditions(frr()), flaps, detection, cost };
if (values.json) console.log(JSON.stringify(results));
else {
  console.log(conditionLines(results.conditions));
  if (flaps.length > 0)
    console.table(flaps, ['name', 'peer', 'minutes', 'ourFlaps', 'peerFlaps', 'packetsSent', 'packetsReceived', 'load']);
  if (detection.length > 0) console.table(detection);
  if (cost.length > 0) console.table(cost);
  console.log(JSON.stringify(results));
}
