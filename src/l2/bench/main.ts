import { cpus, loadavg } from 'node:os';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { endTogether } from '../../../test/lab/ends-together.ts';
import { Attempts } from '../../../test/bench/runner/attempts.ts';
import { conditionLines, conditions } from '../../../test/bench/runner/conditions.ts';
import { goModule, programs, versionOf } from '../../../test/bench/runner/versions.ts';
import { measureClaims } from './claims.ts';
import { nodes, type Contender } from './contenders/contender.ts';
import { HeraldContender } from './contenders/herald.ts';
import { KeepalivedContender } from './contenders/keepalived.ts';
import { MetalLBContender } from './contenders/metallb.ts';
import { measureFailover, streamTo, type Failover } from './failover.ts';
import { faults } from './faults.ts';
import { measureHandovers, type Handover } from './handover.ts';
import { judge, tables, type Results } from './report.ts';
import { measureRoster } from './roster.ts';
import type { Stream } from './stream.ts';
import { measureTwoOwners, type TwoOwners } from './two-owners.ts';

const help = `npm run bench:l2 -- [options]

  Measures how long clients wait for the next owner of an address after each fault, with agents of Herald, MetalLB's speakers and
  keepalived on a bridge of network namespaces; requests lost in planned changes of owner; how long two nodes answer at once; the claim of
  10,000 addresses; and the cost of a node in a cluster of 1,000. Needs root. Exits with 1 when a bound is missed and the machine was quiet
  at the start. Other work makes every figure worse, so the load is printed with each.

  --runs N          faults of each kind (default 20; MetalLB and keepalived get a quarter)
  --changes N       changes of owner while two clients look for two owners (default 50)
  --quick           3 faults of each kind, 10 changes, fewer repetitions
  --only PART,...   failover, blocked, handover, owners, claims, roster, metallb, keepalived (default: all)
  --without-peers   leaves MetalLB and keepalived out
  --json            prints JSON`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    'without-peers': { type: 'boolean', default: false },
    runs: { type: 'string' },
    changes: { type: 'string' },
    only: { type: 'string', default: 'failover,blocked,handover,owners,claims,roster,metallb,keepalived' },
  },
});
if (values.help) {
  console.log(help);
  process.exit();
}
const parts = new Set(values.only.split(','));
const runs = Number(values.runs ?? (values.quick ? 3 : 20));
const changes = Number(values.changes ?? (values.quick ? 10 : 50));
if (![runs, changes].every((number) => Number.isInteger(number) && number > 0)) {
  console.error('--runs and --changes need a number above 0');
  process.exit(2);
}
const note = (text: string): void => void process.stderr.write(`${text}\n`);
const startLoad = loadavg()[0] ?? 0;
const attempts = new Attempts(note);
endTogether();
const isQuiet = startLoad < cpus().length / 2;

interface Peer {
  readonly part: string;
  readonly missing: () => string | undefined;
  readonly start: () => Promise<Contender>;
  readonly versions: () => Readonly<Record<string, string>>;
}
const peers: readonly Peer[] = [
  {
    part: 'metallb',
    missing: () => MetalLBContender.missing(),
    start: () => MetalLBContender.start(),
    versions: () => ({ MetalLB: goModule('go.universe.tf/metallb', 'metallb'), ...programs('kube-apiserver', 'etcd') }),
  },
  {
    part: 'keepalived',
    missing: () => KeepalivedContender.missing(),
    start: () => KeepalivedContender.start(),
    versions: () => ({ keepalived: versionOf(['keepalived', '--version']) }),
  },
];

const failovers: Failover[] = [];
const blocked: Failover[] = [];
const handovers: Handover[] = [];
const missing: string[] = [];
const versions: Record<string, string> = {};
let twoOwners: TwoOwners | undefined;

const claims = parts.has('claims') ? await noted('10,000 addresses', () => measureClaims(10_000, values.quick ? 3 : 10)) : undefined;
const rosters = [];
for (const count of parts.has('roster') ? [32, 1_000] : [])
  rosters.push(await noted(`${count} nodes`, () => measureRoster(count, 10_000, values.quick ? 10 : 60)));

if (['failover', 'blocked', 'handover', 'owners'].some((part) => parts.has(part))) {
  await using(HeraldContender.start(), async (herald, stream) => {
    if (parts.has('failover')) failovers.push(...(await allFaults(herald, stream, runs)));
    if (parts.has('handover')) handovers.push(...(await noted('handovers', () => measureHandovers(herald, stream, runs))));
    if (parts.has('owners')) twoOwners = await noted('two owners', () => measureTwoOwners(herald, changes));
    if (parts.has('blocked')) {
      const rule = 'table inet bench { chain input { type filter hook input priority -300; udp dport 3784 drop; }; }';
      for (const at of nodes) await herald.lab.exec(at, ['nft', rule]);
      note('BFD blocked');
      blocked.push(...(await allFaults(herald, stream, Math.max(3, Math.ceil(runs / 4)))));
    }
  });
}
for (const { part, missing: why, start, versions: versionsOf } of peers) {
  if (values['without-peers'] || !parts.has(part)) continue;
  const reason = why();
  if (reason !== undefined) missing.push(`Not measured: ${reason}`);
  else {
    Object.assign(versions, versionsOf());
    await attempts.row(part, () =>
      using(start(), async (contender, stream) => {
        failovers.push(...(await allFaults(contender, stream, Math.max(2, Math.ceil(runs / 4)))));
      }),
    );
  }
}
missing.push(...attempts.lines());
const under = conditions(versions);

const results: Results = {
  failovers,
  blocked,
  handovers,
  rosters,
  missing,
  ...(twoOwners === undefined ? {} : { twoOwners }),
  ...(claims === undefined ? {} : { claims }),
};
const judged = judge(results);
const missed = judged.filter(({ value, bound }) => !(value < bound));
if (values.json) console.log(JSON.stringify({ conditions: under, ...results, judged, failed: attempts.failed }));
else {
  console.log(`${conditionLines(under)}\n`);
  console.log(tables(results));
}
if (missed.length > 0) note(isQuiet ? `${missed.length} bounds missed` : `${missed.length} bounds missed on a machine that was not quiet`);
process.exit(missed.length > 0 && isQuiet ? 1 : 0);

async function allFaults(contender: Contender, stream: Stream, times: number): Promise<Failover[]> {
  const measured: Failover[] = [];
  for (const fault of faults)
    measured.push(await noted(`${contender.name}: ${fault.name}`, () => measureFailover(contender, stream, fault, times)));
  return measured;
}

/** Runs a part with a contender and a client, and takes both down. */
async function using<C extends Contender>(starting: Promise<C>, act: (contender: C, stream: Stream) => Promise<void>): Promise<void> {
  const contender = await starting;
  const stream = streamTo(contender);
  try {
    // Until the last program that started has the addresses for which it is the best.
    await stream.untilSettled(8_000, 120_000);
    await act(contender, stream);
  } finally {
    await stream.kill();
    await contender.close();
  }
}

function noted<T>(text: string, act: () => Promise<T>): Promise<T> {
  note(text);
  return act();
}
