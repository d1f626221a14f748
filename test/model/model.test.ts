import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DataplaneError, type ApplyResult } from '../../src/dataplane/dataplane.ts';
import { netlinkExecutor } from '../../src/dataplane/nftables/netlink/netlink-executor.ts';
import { CommitOutcomeUnknown, type NftExecutor } from '../../src/dataplane/nftables/executor.ts';
import { nftCommand } from '../support/commands/nft-command.ts';
import type { Frontend, NodeForwarding } from '../../src/net/frontend.ts';
import { anyEvent, type Event } from './events.ts';
import { anyFaultPlan, type FaultPlan } from './any-fault.ts';
import { Faults, type Fault } from './faulty-netlink.ts';
import { dataplaneBy, KernelNamespace, quickClock } from './kernel-namespace.ts';
import { effective, Subject } from './subject.ts';

/**
 * Plays random changes of Services, EndpointSlices, Nodes and settings, with random faults. The test checks that the kernel has the state
 * that the data plane reports, which is the state that a full plan puts into an empty kernel.
 *
 *   npm run test:model    many sequences. MODEL_SEED repeats those of a run, MODEL_RUNS sets their number,
 *                         MODEL_SHRINK looks for the shortest that fails
 */
const seed = Number(process.env['MODEL_SEED'] ?? Date.now() % 2 ** 31);
const runs = Number(process.env['MODEL_RUNS'] ?? 6);
/** Finding a short counterexample takes many runs. */
const parameters = { seed, numRuns: runs, endOnFailure: process.env['MODEL_SHRINK'] === undefined };
console.log(`model test: MODEL_SEED=${seed} MODEL_RUNS=${runs}`);

let subjectKernel: KernelNamespace;
let scratchKernel: KernelNamespace;

beforeAll(() => {
  subjectKernel = new KernelNamespace('subject');
  scratchKernel = new KernelNamespace('scratch');
});

afterAll(() => {
  subjectKernel?.remove();
  scratchKernel?.remove();
});

function byNetlink({ namespace }: KernelNamespace, faults?: Faults): NftExecutor {
  return netlinkExecutor(quickClock, { own: false, networkNamespace: `/run/netns/${namespace}` }, faults?.open);
}

function byCommand({ namespace }: KernelNamespace, faults: Faults): NftExecutor {
  const command = nftCommand(['ip', 'netns', 'exec', namespace]);
  return {
    ...command,
    async run(transaction) {
      const fault = faults.nextCommandFault();
      if (fault === 'refused') throw new DataplaneError('failed', 'refused');
      await command.run(transaction);
      if (fault === 'reply lost') throw new CommitOutcomeUnknown('the reply was lost');
    },
  };
}

interface Step {
  readonly events: readonly Event[];
  readonly restart: boolean;
  readonly faultPlan?: FaultPlan;
}

const sometimes = (weight: number): fc.Arbitrary<boolean> =>
  fc.oneof({ weight, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) });
const quiet: fc.Arbitrary<Step> = fc.record({ events: fc.array(anyEvent, { minLength: 1, maxLength: 5 }), restart: sometimes(12) });
const faulty: fc.Arbitrary<Step> = fc.record(
  { events: fc.array(anyEvent, { minLength: 1, maxLength: 5 }), restart: sometimes(12), faultPlan: anyFaultPlan },
  { requiredKeys: ['events', 'restart'] },
);

type Transport = (kernel: KernelNamespace, faults: Faults) => NftExecutor;

/** Plays one sequence, from an empty kernel. */
async function play(steps: readonly Step[], transport: Transport, faults: Faults): Promise<void> {
  const open = (): NftExecutor => transport(subjectKernel, faults);
  const scratch = (): NftExecutor => transport(scratchKernel, new Faults());
  const subject = new Subject(() => dataplaneBy(open()));
  /** The form of each frontend in the kernel. */
  let present = new Map<string, Frontend>();
  let table: string | undefined;
  try {
    for (const { events, restart, faultPlan } of steps) {
      for (const event of events) subject.applyEvent(event);
      if (restart) await subject.restart();
      faults.setFaultSource(nextOf(faultPlan));
      const first = await subject.commit();
      // A table that is created anew has no previous form of a refused frontend.
      if (table !== tableOf(subject.node())) present = new Map();
      if (first !== undefined) present = await expectReportedState(subject, first, present, scratch());
      if (faultPlan !== undefined && 'lasting' in faultPlan && faultPlan.lasting.kind === 'refused with')
        expect([[], [faultPlan.lasting.frontend]]).toContainEqual(refusedIn(first));
      faults.setFaultSource(nextOf(undefined));
      let last = first;
      for (let attempt = 1; attempt <= 3 && (last === undefined || refusedIn(last).length > 0); attempt++) last = await subject.commit();
      expect(refusedIn(last)).toEqual([]);
      if (last !== undefined && last !== first) present = await expectReportedState(subject, last, present, scratch());
      table = tableOf(subject.node());
    }
  } finally {
    faults.setFaultSource(nextOf(undefined));
    await subject.close();
    await byNetlink(subjectKernel).removeTables();
  }
}

/** Returns what determines the constant part of the tables. Masquerading is decided by elements, except where interfaces identify pods. */
function tableOf({ masqueradeBit, podInterfaces = [], masqueradeAll }: NodeForwarding): string {
  return JSON.stringify([masqueradeBit, podInterfaces, podInterfaces.length > 0 && masqueradeAll]);
}

function nextOf(faultPlan: FaultPlan | undefined): () => Fault | 'none' {
  if (faultPlan === undefined) return () => 'none';
  if ('lasting' in faultPlan) return () => faultPlan.lasting;
  const script = faultPlan.script.values();
  return () => script.next().value ?? 'none';
}

/** Returns the frontends that the kernel refused, without those that another Service owns. */
function refusedIn(result: ApplyResult | undefined): string[] {
  if (result === undefined) return ['everything'];
  return [...result.quarantined].flatMap(([key, { owner }]) => (owner === undefined ? [key] : []));
}

/** Checks that the kernel has every frontend in its newest form, and refused frontends in their previous form. Returns these forms. */
async function expectReportedState(
  subject: Subject,
  result: ApplyResult,
  before: ReadonlyMap<string, Frontend>,
  fresh: NftExecutor,
): Promise<Map<string, Frontend>> {
  const forms = effective(subject.services());
  for (const key of refusedIn(result)) {
    const form = before.get(key);
    if (form === undefined) forms.delete(key);
    else forms.set(key, form);
  }
  const services = new Map([...forms].map(([key, frontend]) => [key, { frontends: [frontend] }]));
  await byNetlink(scratchKernel).removeTables();
  const scratch = dataplaneBy(fresh);
  await scratch.replace(subject.node(), services);
  const [is, shouldBe] = [await subjectKernel.reading.read(), await scratchKernel.reading.read()];
  await scratch.close();
  expect(is.lines).toEqual(shouldBe.lines);
  expect(is.revisions).toBe(1);
  return forms;
}

test('the kernel has the planned state by netlink', { timeout: 3_600_000 }, async () => {
  const faults = new Faults();
  await fc.assert(
    fc.asyncProperty(fc.array(quiet, { minLength: 4, maxLength: 20 }), (steps) => play(steps, byNetlink, faults)),
    parameters,
  );
});

test('the kernel has the planned state by netlink with errors at any message', { timeout: 3_600_000 }, async () => {
  const faults = new Faults();
  await fc.assert(
    fc.asyncProperty(fc.array(faulty, { minLength: 4, maxLength: 20 }), (steps) => play(steps, byNetlink, faults)),
    parameters,
  );
});

test('the kernel has the planned state by the nft command with refused transactions and lost replies', { timeout: 3_600_000 }, async () => {
  const faults = new Faults();
  const few = { ...parameters, numRuns: Math.ceil(runs / 10) };
  const steps = fc.array(faulty, { minLength: 3, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(steps, (each) => play(each, byCommand, faults)),
    few,
  );
});
