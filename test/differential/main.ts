import { randomInt } from 'node:crypto';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { Random } from '../fuzz/random.ts';
import type { ApiObject } from '../kube-fixture/object.ts';
import { compare } from './compare.ts';
import { differences } from './differences.ts';
import { flowText, randomFlows, type Flow } from './flows.ts';
import { HeraldSide } from './herald-side.ts';
import { KubeProxySide } from './kube-proxy-side.ts';
import { nextObjects, randomEnvironment, slotOf, type Environment, type Objects } from './objects.ts';
import { judgeByMetalLB } from './metallb/run.ts';
import { lastingDifferences } from './lasting-differences.ts';
import { compareLasting, continueFlows, lastingFlows, type FatesBeforeChange, type LastingFlow } from './lasting.ts';
import { merged, observe, type Outcome } from './observe.ts';

const help = `npm run test:differential -- [--seconds N] [--seeds N] [--seed N] [--steps N] [--flows N]

  Gives the same random Services, endpoints and settings to kube-proxy (nftables mode) and to Herald on two equal nodes,
  and checks that the same packets have the same fate. Needs root.

  --seconds N   starts new seeds for this time (default 60)
  --seeds N     number of seeds, instead of a time
  --seed N      only this seed; with --seeds the first one
  --steps N     sets of objects for a seed, each made from the previous one (default 6)
  --flows N     flows for a set of objects, each of 12 packets or more (default 150)

  --judge metallb   gives random pools and Services to MetalLB's controller and to Herald's instead, each at a real
                    kube-apiserver, and checks that the Services get the same addresses. Needs no root. --steps is then
                    the number of changes for a seed (default 20)`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '60' },
    seeds: { type: 'string' },
    seed: { type: 'string' },
    steps: { type: 'string' },
    judge: { type: 'string', default: 'kube-proxy' },
    flows: { type: 'string', default: '150' },
  },
});
if (values.help) {
  console.log(help);
  process.exit(0);
}

if (values.judge === 'metallb') {
  const number = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text));
  const { seconds, steps = '20' } = values;
  const options = { seed: number(values.seed), seeds: number(values.seeds), seconds: Number(seconds), steps: Number(steps) };
  process.exit(await judgeByMetalLB(options));
}
if (values.judge !== 'kube-proxy') {
  console.error(`--judge ${values.judge}: must be kube-proxy or metallb`);
  process.exit(64);
}
const stepsOfSeed = Number(values.steps ?? '6');

/** The number of printed problems after which the run stops printing. */
const maximumProblems = 20;
const none: Outcome = { fates: new Set(), moved: false };
const fresh = { id: 0x1000_0000, source: 0 };
const used = new Map([...differences, ...lastingDifferences].map(({ name }) => [name, 0]));
const totals = { sets: 0, failed: 0, flows: 0, problems: 0 };
const interrupted = new AbortController();
process.once('SIGINT', () => interrupted.abort());

const herald = await HeraldSide.start();
const kubeProxy = await KubeProxySide.start(fresh);
try {
  const end = performance.now() + Number(values.seconds) * 1_000;
  const first = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed);
  const count = Number(values.seeds ?? (values.seed === undefined ? Number.POSITIVE_INFINITY : 1));
  for (let index = 0; index < count && !interrupted.signal.aborted && totals.problems < maximumProblems; index++) {
    if (values.seeds === undefined && index > 0 && performance.now() > end) break;
    await runSeed((first + index) >>> 0);
  }
} finally {
  await kubeProxy.stop();
  await herald.stop();
}
console.log(`${totals.sets} sets of objects, ${totals.flows} flows; flows with an intended difference:`);
for (const [name, times] of used) console.log(`  ${times}: ${name}`);
console.log(`${totals.sets - totals.failed} passed, ${totals.failed} failed`);
process.exitCode = totals.failed > 0 || totals.sets === 0 ? 1 : 0;

async function runSeed(seed: number): Promise<void> {
  const random = new Random(seed);
  const environment = randomEnvironment(random);
  await kubeProxy.enter(environment);
  herald.enter(environment);
  let objects: Objects = { services: [], slices: [] };
  let begun: FatesBeforeChange | undefined;
  const before = totals.problems;
  for (let step = 0; step < stepsOfSeed && totals.problems < maximumProblems; step++) {
    objects = nextObjects(random, objects);
    await Promise.all([herald.program(objects), kubeProxy.program(objects)]);
    const broken = begun === undefined ? [] : await tryLasting(begun, objects, environment);
    for (const text of broken) reportLasting(seed, step, text, objects);
    await Promise.all([herald.stand.forgetFlows(), kubeProxy.stand.forgetFlows()]);
    const flows = randomFlows(random, objects, Number(values.flows));
    const problems = await tryFlows(flows, environment);
    totals.sets++;
    totals.flows += flows.length;
    if (problems.length > 0 || broken.length > 0) totals.failed++;
    begun = await begin(lastingFlows(random, 40));
    for (const problem of problems) report(seed, step, problem, environment, objects);
  }
  console.log(`seed ${seed}: ${totals.problems === before ? 'the same' : `${totals.problems - before} differences`}`);
}

async function begin(flows: readonly LastingFlow[]): Promise<FatesBeforeChange> {
  const kubeProxyFates = await continueFlows(kubeProxy.stand, flows, fresh);
  return { flows, kubeProxy: kubeProxyFates, herald: await continueFlows(herald.stand, flows, fresh) };
}

async function tryLasting(begun: FatesBeforeChange, objects: Objects, environment: Environment): Promise<readonly string[]> {
  const { problems, used: names } = await compareLasting(begun, { objects, environment }, kubeProxy.stand, herald.stand, fresh);
  for (const name of names) count(name);
  totals.flows += begun.flows.length;
  return problems;
}

function count(difference: string): void {
  used.set(difference, (used.get(difference) ?? 0) + 1);
}

interface Problem {
  readonly flow: Flow;
  readonly text: string;
}

/** Tries flows again with more packets while the sides differ, because chance may hide endpoints and packets may be lost. */
async function tryFlows(all: readonly Flow[], environment: Environment): Promise<Problem[]> {
  let open = all.map((flow) => ({ flow, kubeProxy: none, herald: none }));
  for (const [attempt, tries] of [12, 40, 200, 600].entries()) {
    const flows = open.map(({ flow }) => flow);
    const seen = [await observe(kubeProxy.stand, flows, tries, fresh), await observe(herald.stand, flows, tries, fresh)] as const;
    const results = open.map((before, index) => {
      const [ours, theirs] = [seen[1][index] ?? none, seen[0][index] ?? none];
      // Outcomes that are choices among endpoints are merged over attempts. Any other difference must occur again.
      const keep = compare(before.flow, environment, before.kubeProxy, before.herald).open;
      const outcomes = keep
        ? { kubeProxy: merged(before.kubeProxy, theirs), herald: merged(before.herald, ours) }
        : { kubeProxy: theirs, herald: ours };
      return { flow: before.flow, ...outcomes, verdict: compare(before.flow, environment, outcomes.kubeProxy, outcomes.herald) };
    });
    if (attempt === 0) for (const { verdict } of results) for (const name of verdict.used) count(name);
    open = results.filter(({ verdict }) => verdict.problem !== undefined);
    if (open.length === 0) return [];
    if (attempt === 3) return results.flatMap(({ flow, verdict: { problem } }) => (problem === undefined ? [] : [{ flow, text: problem }]));
  }
  return [];
}

function report(seed: number, step: number, { flow, text }: Problem, environment: Environment, { services, slices }: Objects): void {
  totals.problems++;
  if (totals.problems > maximumProblems) return;
  console.log(`\nseed ${seed}, step ${step}: ${flowText(flow)}\n  ${text}`);
  console.log(`  ${JSON.stringify(environment)}`);
  const isOf = ({ metadata }: ApiObject): boolean =>
    metadata.name === flow.service || metadata.labels?.['kubernetes.io/service-name'] === flow.service;
  for (const object of [...services, ...slices].filter(isOf)) console.log(`  ${JSON.stringify(object)}`);
}

function reportLasting(seed: number, step: number, text: string, { services, slices }: Objects): void {
  totals.problems++;
  if (totals.problems > maximumProblems) return;
  console.log(`\nseed ${seed}, step ${step}: a continuing flow: ${text}`);
  const slot = /(\d)\d$/.exec(/\d+(?=,)/.exec(text)?.[0] ?? '')?.[1];
  for (const object of [...services, ...slices]) if (String(slotOf(object)) === slot) console.log(`  ${JSON.stringify(object)}`);
}
