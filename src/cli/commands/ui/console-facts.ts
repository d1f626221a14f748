import { defined } from '../../../lang/defined.ts';
import type { Note } from '../../../console/contract.ts';
import type {
  CheckedService,
  ExplainedService,
  Facts,
  HistoryQuestion,
  OutsideResources,
  Picture,
  PlannedChanges,
  RecalledHistory,
} from '../../../console/picture.ts';
import { lookedAtEndpoints } from '../../../explain/service/endpoint-looks.ts';
import { allocatorInSlices } from '../../../explain/pools/allocation.ts';
import { withoutSelfReference } from '../../../explain/text/self-reference.ts';
import { alikeUnqueried } from '../../../explain/text/unqueried.ts';
import { markUndecided, unreadLines } from '../../../explain/unread-objects.ts';
import type { ServiceKey } from '../../../model/objects/metadata.ts';
import type { Snapshot } from '../../../model/store/snapshot.ts';
import { problemText } from '../../../sources/source.ts';
import { TimeSlice } from '../../../system/time-slice.ts';
import type { CommandContext } from '../../context/command-context.ts';
import { callerContext } from '../../storage/caller-connection.ts';
import type { UnreachableProcess } from '../../live/live-client.ts';
import { openReading, type ReadingOptions } from '../../reading/open-reading.ts';
import { linesAbove, problemLines } from '../../reading/problem-lines.ts';
import { askedView } from '../../reading/query-nodes.ts';
import { keptNow, type Reading } from '../../reading/reading.ts';
import { Redaction } from '../../reading/redaction.ts';
import { explanationLines, judgedExplanation, type JudgedExplanation } from '../explain-service.ts';
import { recallHistory } from '../history-command.ts';
import { outsideLines, planLines, planOutcome, summaryLines, type OutsideOptions } from '../plan-outcome.ts';
import { proposeTyped } from '../proposal.ts';
import { conditionsOf, currentStates } from '../tables/current-conditions.ts';
import { readOverview, readProblems, refusedBy, unwrittenBy } from '../tables/status-facts.ts';
import { OutsideReading } from './outside-reading.ts';
import { checkOne } from '../check/check-service.ts';
import { mayCheck } from './check-rights.ts';
import { currentVerdicts } from './current-verdicts.ts';
import { openReadings, type Readings } from './readings.ts';

/** An explanation with resources of a cloud is kept for this time: a page that follows changes must not exhaust the cloud's API. */
const previewMilliseconds = 15_000;
const rightsMilliseconds = 60_000;
/** After this time a picture is computed again although nothing was heard: agents may have become silent. */
const staleMilliseconds = 5000;

/** Opens the facts of the console. The objects are read once before it resolves, so that a wrong place is an error of the command. */
export async function openConsoleFacts(
  context: CommandContext,
  options: ReadingOptions,
  outside?: OutsideOptions,
): Promise<Facts & { readonly close: () => Promise<void> }> {
  const readings = await openReadings(context, options);
  try {
    const first = await readings.next();
    const kubeContext = first.reading.kind === 'cluster' ? await callerContext(context.variables, options) : undefined;
    return new ConsoleFacts(context, options, { readings, first, outside, kubeContext: kubeContext?.name });
  } catch (error) {
    await readings.close();
    throw error;
  }
}

interface Parts {
  readonly readings: Readings;
  readonly first: Awaited<ReturnType<Readings['next']>>;
  readonly outside: OutsideOptions | undefined;
  readonly kubeContext: string | undefined;
}

interface LastPicture {
  readonly reading: Reading;
  readonly picture: Picture;
  /** The answers of processes, as text. */
  readonly heard: string;
}

class ConsoleFacts implements Facts {
  readonly intervalMilliseconds: number;
  readonly #context: CommandContext;
  readonly #options: ReadingOptions;
  readonly #readings: Readings;
  readonly #outside: OutsideOptions | undefined;
  readonly #redaction = new Redaction();
  #last: LastPicture | undefined;

  readonly #outsideReading: OutsideReading | undefined;

  /** The last explanation with resources outside the cluster. */
  #previewed: { readonly at: number; readonly of: ExplainedService } | undefined;

  /** The reading at the start, while no picture has it. */
  #first: Awaited<ReturnType<Readings['next']>> | undefined;

  /** Why the last reading failed. Undefined: it did not. */
  #trouble: string | undefined;

  readonly #kubeContext: string | undefined;

  #rights: { readonly at: number; readonly may: Promise<boolean> } | undefined;

  constructor(context: CommandContext, options: ReadingOptions, { readings, first, outside, kubeContext }: Parts) {
    this.#context = context;
    this.#options = options;
    this.#readings = readings;
    this.#first = first;
    this.#outside = outside;
    this.#kubeContext = kubeContext;
    this.#outsideReading = outside === undefined ? undefined : new OutsideReading(context, outside);
    this.intervalMilliseconds = readings.intervalMilliseconds;
  }

  redact(value: unknown): unknown {
    return this.#redaction.object(value);
  }

  get changed(): Facts['changed'] {
    return this.#readings.changed;
  }

  async read(): Promise<Picture> {
    try {
      const picture = await this.#readNow();
      this.#trouble = undefined;
      return picture;
    } catch (error) {
      this.#trouble = messageOf(error);
      throw error;
    }
  }

  async #readNow(): Promise<Picture> {
    const { reading, isNew } = this.#first ?? (await this.#readings.next());
    this.#first = undefined;
    const view = await askedView(this.#context, this.#options, reading, { of: ['agent', 'controller'] });
    const heard = JSON.stringify([[...view.live], view.unasked, view.processes.map(({ process }) => process)]);
    const before = this.#last;
    const isRecent = before !== undefined && reading.now - before.picture.now < staleMilliseconds;
    if (!isNew && isRecent && heard === before.heard) return before.picture;
    const slice = new TimeSlice(this.#context.clock);
    if (isNew || before === undefined) await learnSecrets(this.#redaction, reading.snapshot, slice);
    const allocator = await allocatorInSlices({ snapshot: view.snapshot, released: await keptNow(reading) }, slice);
    const known = {
      live: view.live,
      allocator,
      ...defined({ unwritten: unwrittenBy(view.processes), refused: refusedBy(view.processes) }),
    };
    const asked = { ...reading, snapshot: view.snapshot };
    const states = await currentStates(asked, { slice, allocator });
    const verdicts = await this.#verdicts(asked, { states, processes: view.processes, slice });
    const overview = markUndecided(await readOverview(asked, {}, conditionsOf(states), known), reading, '');
    const picture: Picture = {
      from: this.#kubeContext === undefined ? reading.from : `context ${this.#kubeContext}, ${reading.from}`,
      kind: reading.kind,
      snapshot: view.snapshot,
      live: view.live,
      now: reading.now,
      notes: notesOf(reading, view.unasked),
      services: states,
      verdicts,
      released: await reading.released(),
      overview,
      problems: markUndecided(readProblems(asked, states, overview, known), reading, ''),
    };
    this.#last = { reading, picture, heard };
    return picture;
  }

  /** Does not wait for resources outside the cluster: the next picture has them. */
  async #verdicts(
    reading: Reading,
    known: Pick<Parameters<typeof currentVerdicts>[1], 'states' | 'processes' | 'slice'>,
  ): ReturnType<typeof currentVerdicts> {
    const outside = this.#outsideReading;
    void outside?.read(reading);
    const { provider: modules = [] } = this.#outside ?? {};
    const providers = await this.#context.claims({ options: this.#outside ?? {}, modules });
    return currentVerdicts(reading, { ...known, providers, previewOf: (service) => outside?.previewOf(service) });
  }

  /** While nothing can be read, explains from the last picture. */
  async explain(key: ServiceKey): Promise<ExplainedService | undefined> {
    const last = this.#last;
    if (last !== undefined && this.#trouble !== undefined) return this.#explainLast(key, last, this.#trouble);
    try {
      return await this.#explainPresent(key);
    } catch (error) {
      if (last === undefined) throw error;
      return this.#explainLast(key, last, messageOf(error));
    }
  }

  async #explainLast(key: ServiceKey, { reading, picture }: LastPicture, stale: string): Promise<ExplainedService | undefined> {
    const kept = { ...withoutServer(reading), snapshot: picture.snapshot, now: picture.now };
    const judged = await judgedExplanation(this.#context, kept, key, { ...this.#options, ask: false }, undefined);
    return judged === undefined ? undefined : { ...explainedOf(kept, judged, false), stale };
  }

  async #explainPresent(key: ServiceKey): Promise<ExplainedService | undefined> {
    const kept = this.#previewed;
    const now = this.#context.clock.now();
    if (kept?.of.explanation.service === key && now - kept.at < previewMilliseconds) return kept.of;
    const of = await this.#explainNow(key);
    this.#previewed = of?.explanation.provider?.preview === undefined ? undefined : { at: now, of };
    return of;
  }

  async #explainNow(key: ServiceKey): Promise<ExplainedService | undefined> {
    const last = await this.#latest();
    // A caller without rights to the whole cluster may still read everything of one namespace.
    const isPartial = last.kind === 'cluster' && last.unread.some(({ why }) => why === 'forbidden');
    if (!isPartial) return this.#explain(last, key);
    const reading = await openReading(this.#context, this.#options, key.slice(0, key.indexOf('/')));
    try {
      return await this.#explain(reading, key);
    } finally {
      reading.close();
    }
  }

  async #explain(last: Reading, key: ServiceKey): Promise<ExplainedService | undefined> {
    const now = last.kind === 'manifests' ? last.now : this.#context.clock.date().getTime();
    const reading = { ...last, now };
    const judged = await judgedExplanation(this.#context, reading, key, this.#options, this.#outside);
    return judged === undefined ? undefined : explainedOf(reading, judged, await this.#mayCheck());
  }

  async check(key: ServiceKey): Promise<CheckedService | undefined> {
    const reading = await this.#latest();
    if (!reading.snapshot.services.has(key)) return undefined;
    const checked = await checkOne(this.#context, this.#options, reading, key);
    return { ...checked, at: this.#context.clock.date().toISOString() };
  }

  /** Asks again only now and then: rights seldom change. */
  async #mayCheck(): Promise<boolean> {
    const now = this.#context.clock.now();
    if (this.#rights === undefined || now - this.#rights.at >= rightsMilliseconds)
      this.#rights = { at: now, may: mayCheck(this.#context, this.#options).catch(() => false) };
    return this.#rights.may;
  }

  whyUnexplained(key: ServiceKey): readonly string[] {
    const reading = this.#last?.reading ?? this.#first?.reading;
    if (reading === undefined || reading.snapshot.services.has(key)) return [];
    const own = reading.problems.filter(({ object, severity }) => severity === 'error' && object === `Service/${key}`);
    return own.length > 0 ? own.map(problemText) : unreadLines(reading.unread.filter(({ kind }) => kind === 'Service'));
  }

  async outside(): Promise<OutsideResources> {
    return (await this.#outsideReading?.read(await this.#latest())) ?? { services: [], notes: [] };
  }

  async plan(manifests: string): Promise<PlannedChanges> {
    const reading = await this.#latest();
    const { from, kind } = reading;
    const now = this.#context.clock.date().getTime();
    const proposal = await proposeTyped(this.#context, reading, manifests);
    const outcome = await planOutcome(this.#context, proposal, this.#outside);
    return {
      from,
      kind,
      at: new Date(now).toISOString(),
      changes: outcome.changes,
      notes: proposal.problems.map((problem) => ({ severity: problem.severity, line: problemText(problem) })),
      lines: planLines(proposal, outcome, now),
      summary: summaryLines(outcome),
      outside: outsideLines(outcome.outside),
    };
  }

  async #latest(): Promise<Reading> {
    return this.#last?.reading ?? this.#first?.reading ?? (await this.#readings.next()).reading;
  }

  history(question: HistoryQuestion): Promise<RecalledHistory> {
    return recallHistory(this.#context, question, this.#options);
  }

  close(): Promise<void> {
    return this.#readings.close();
  }
}

function explainedOf(reading: Reading, judged: JudgedExplanation, isCheckable: boolean): ExplainedService {
  const { from, kind, now } = reading;
  return {
    from,
    kind,
    at: new Date(now).toISOString(),
    mayCheck: isCheckable,
    explanation: judged.explanation,
    endpoints: lookedAtEndpoints(reading.snapshot.endpointSlices(judged.explanation.service), judged.live, now),
    lines: explanationLines(reading, judged, 'brief'),
    wideLines: explanationLines(reading, judged, 'whole'),
  };
}

/** The same objects, without what is read of each Service when it is explained: its Pods and its Events. */
function withoutServer(reading: Reading): Reading {
  return {
    ...reading,
    pods: async () => undefined,
    record: async (key) => ({ conditions: (await reading.conditions()).get(key) ?? [], events: [] }),
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function notesOf(reading: Reading, unasked: readonly UnreachableProcess[]): Note[] {
  const note = (severity: Note['severity']) => (line: string) => ({ severity, line });
  return [
    ...linesAbove(reading.problems, reading)
      .filter((line) => line !== '')
      .map(note('error')),
    ...problemLines(reading.problems.filter(({ severity }) => severity === 'warning')).map(note('warning')),
    ...withoutSelfReference(unreadLines(reading.unread), 'herald ui').map(note('unknown')),
    ...alikeUnqueried(unasked).map(({ who, why }) => note('unknown')(`not queried, so shown as decided and reported: ${who}: ${why}`)),
  ];
}

/** The objects that were read can have secrets: passwords of sessions, and whatever users write into annotations. */
async function learnSecrets(redaction: Redaction, snapshot: Snapshot, slice: TimeSlice): Promise<void> {
  const { services, pools, peers, secrets, advertisements, nodes } = snapshot;
  for (const objects of [services, pools, peers, secrets, advertisements, nodes])
    for (const object of objects.values()) {
      redaction.learn(object);
      if (slice.isUsedUp) await slice.yield();
    }
}
