import type { Node } from '../../../src/model/objects/cluster.ts';
import { serviceKey, type ServiceKey } from '../../../src/model/objects/metadata.ts';
import { reason, reasonText, type Reason } from '../../../src/model/reasons.ts';
import type { Service } from '../../../src/model/objects/service.ts';
import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import type { Clock } from '../../../src/system/clock.ts';
import type { Log } from '../../../src/system/log.ts';
import type { Random } from '../../../src/system/random.ts';
import { AccountFacts } from '../observe/account-facts.ts';
import type { Cloud } from '../cloud/cloud.ts';
import { AwsError } from '../cloud/error.ts';
import type { Preview } from '../../../src/controller/provider-parts.ts';
import type { Circumstances, StackIdentity } from '../model/circumstances.ts';
import { writtenCertificates } from '../desire/certificates.ts';
import { decideAwsClaim } from '../desire/claim.ts';
import { memberOf, membersOf, stackOf, type Member } from '../desire/stack.ts';
import { reasonOfError } from '../cloud/error-reason.ts';
import { BackgroundWork } from '../schedule/background-work.ts';
import { DepartedServices } from '../stacks/departed-services.ts';
import { execute, type Outcome } from '../stacks/execute.ts';
import { retiredSince } from '../stacks/retired-since.ts';
import { limits } from '../model/limits.ts';
import { StackDiscovery } from '../stacks/stack-discovery.ts';
import { concernsTargets, NodeRules } from '../node-rules/node-rules.ts';
import { scanOwned } from '../observe/scan.ts';
import { decideOrphans } from '../stacks/orphans.ts';
import { reconcileStack, type StackInput, type StackResult } from '../stacks/reconcile-stack.ts';
import { previewStacks } from './preview.ts';
import { KnownResources } from '../observe/known-resources.ts';
import type { AwsSettings, ClasslessMode } from '../model/settings.ts';
import { parseStackKey, recordResult, StackRegistry, type StackState } from '../stacks/stack-registry.ts';
import { surveyTargets } from '../node-rules/target-survey.ts';
import { stacksInUse, servicesAwaitingProvider } from '../stacks/stack-users.ts';

interface Connection {
  readonly cloud: Cloud;
  readonly settings: AwsSettings;
}

/** Finds out where the cluster is, and how AWS is reached. Rejects with AwsError where that cannot be told now. */
export type Connect = (nodes: readonly Node[]) => Promise<Connection>;

interface LinkComponents {
  readonly classless: ClasslessMode;
  readonly connect: Connect;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

interface StackReconciliation {
  readonly state: StackState;
  readonly result: StackResult;
  /** What had to be done although nothing else was asked for. */
  readonly drift: readonly string[];
  readonly problems: readonly Reason[];
  /** What AWS does not let go of: it need not be asked every few seconds. */
  readonly blockedDeletion: readonly Reason[];
}

/** The connection to AWS with everything that is remembered of the account: stacks, facts, rules of nodes, orphans. */
export class StackReconciler {
  readonly stacks = new StackRegistry();
  readonly departed = new DepartedServices();
  readonly background: BackgroundWork;
  readonly #components: LinkComponents;
  #connection: Promise<Connection> | undefined;
  readonly #lookup = new StackDiscovery(this.stacks);
  readonly #facts = new AccountFacts(() => this.#now());
  readonly #rules: NodeRules;

  constructor(components: LinkComponents) {
    this.#components = components;
    this.background = new BackgroundWork(components.log);
    const told = (outcome: Outcome): void => this.#told('', outcome);
    this.#rules = new NodeRules({
      stacks: this.stacks,
      random: components.random,
      now: () => this.#now(),
      survey: (cloud, settings) => surveyTargets(cloud, settings, this.stacks, () => this.#now()),
      told,
      toldStuck: (stuck) => this.#toldStuck('', stuck),
    });
  }

  /** How long one with which nothing is wrong is left alone: the more there are, the longer. */
  get driftSeconds(): number {
    const all = (this.stacks.size * limits.driftReadsPerStack) / limits.driftReadsPerSecond;
    return Math.max(limits.driftSeconds, all);
  }

  /** One pass over a stack with the members that it has now, and over the rules of nodes where those are concerned. */
  async reconcile(identity: StackIdentity, snapshot: Snapshot): Promise<StackReconciliation> {
    const { cloud, settings } = await this.#open(snapshot);
    const members = membersOf(identity.key, snapshot, settings);
    await this.#find(identity, servicesOf(members), snapshot);
    const state = this.stacks.getOrCreate(identity);
    for (const { service } of members) this.departed.disowned.delete(serviceKey(service.metadata));
    const { result } = await this.#passOf(state, snapshot);
    const desired = result.desired === undefined ? undefined : JSON.stringify(result.desired);
    const actions = result.plan.actions;
    const drift = desired !== undefined && state.convergedDesired === desired ? actions.map(({ id, reason }) => `${id}: ${reason}`) : [];
    if (desired !== undefined && actions.length === 0 && result.plan.waits.length === 0) state.convergedDesired = desired;
    // Something else is asked for: who asks for the former again has changed it himself.
    else if (desired !== undefined && state.convergedDesired !== desired) delete state.convergedDesired;
    const problems = (await this.#passRules(cloud, settings, snapshot)).filter((problem) => concernsTargets(problem, state.targets));
    return { state, result, drift, problems, blockedDeletion: state.blockedDeletion === undefined ? [] : [state.blockedDeletion] };
  }

  /** What a pass would do for the Service as it is in the snapshot, or for its absence. */
  async preview(key: ServiceKey, snapshot: Snapshot): Promise<Preview> {
    const connection = await this.#open(snapshot);
    const { cloud, settings } = connection;
    const service = snapshot.services.get(key);
    const claim = service === undefined ? undefined : decideAwsClaim(service, snapshot.config, settings);
    const member = service !== undefined && claim?.mine === true ? memberOf(service, claim.kind) : undefined;
    const own = member === undefined ? parseStackKey(key) : stackOf(member);
    await this.#find(own, servicesOf(membersOf(own.key, snapshot, settings)), snapshot);
    const left = (await this.stacksOf(key, snapshot)).map(({ identity }) => identity).filter((identity) => identity.key !== own.key);
    const common = {
      circumstances: await this.#circumstances(cloud, settings, snapshot, membersOf(own.key, snapshot, settings), true),
      isVanished: this.departed.isVanished(snapshot),
      now: this.#now(),
    };
    const inputOf = (stack: StackIdentity): StackInput => {
      const members = membersOf(stack.key, snapshot, settings);
      const disown = member?.values.disown === true && members.length === 0;
      const releasing = member !== undefined && stack.key === own.key ? undefined : key;
      const movedAway = this.departed.movedAway(stack.key, settings, snapshot, releasing);
      return {
        stack,
        members,
        disown,
        releasing,
        movedAway,
        known: this.stacks.get(stack.key)?.known ?? new KnownResources(),
        ...common,
      };
    };
    return previewStacks(connection, key, snapshot, inputOf(own), left.map(inputOf));
  }

  /** Since when the Service has not needed what it has in these, in milliseconds since the epoch: the time is kept there. */
  async retiredSince(states: readonly StackState[], service: ServiceKey, snapshot: Snapshot): Promise<number> {
    const { cloud, settings } = await this.#open(snapshot);
    return retiredSince(cloud, settings, states, service, () => this.#now());
  }

  /** How long what was replaced goes on serving. */
  async retireSeconds(snapshot: Snapshot): Promise<number> {
    return (await this.#open(snapshot)).settings.retireSeconds;
  }

  /** Keeps what still serves a Service that belongs elsewhere by now as it is, with the targets that there are. */
  async refreshTargets(state: StackState, snapshot: Snapshot): Promise<StackResult> {
    return (await this.#passOf(state, snapshot)).result;
  }

  /**
   * Undefined: what the stack had for those who left is gone, `releasing` above all. Those who still share it keep their part, and so do those who are
   * on their way out and not served elsewhere yet.
   */
  async release(state: StackState, snapshot: Snapshot, releasing?: ServiceKey): Promise<Reason | undefined> {
    const { cloud, settings } = await this.#open(snapshot);
    const { result, isUsed } = await this.#passOf(state, snapshot, { releasing });
    const failed = result.execution.outcomes.some((outcome) => outcome.result !== 'done');
    if (isUsed) {
      const [wrong] = [...result.errors.values()].flat();
      if ((result.desired === undefined && releasing === undefined) || result.unsettled) return wrong ?? deleting(state);
      return failed ? (result.errors.get('')?.[0] ?? deleting(state)) : undefined;
    }
    if (!result.gone) return result.errors.get('')?.[0] ?? deleting(state);
    this.stacks.forgetStack(state.identity.key);
    await this.#passRules(cloud, settings, snapshot);
    return undefined;
  }

  /** Stacks of which the Service has a part, by what it says itself, or the account. */
  async stacksOf(key: ServiceKey, snapshot: Snapshot): Promise<StackState[]> {
    const service = snapshot.services.get(key);
    const identity = service === undefined ? parseStackKey(key) : stackOf(memberOf(service, 'nlb'));
    await this.#find(identity, service === undefined ? [] : [service], snapshot);
    const own = this.stacks.get(identity.key);
    return [...new Set([...this.stacks.stacksWith(key), ...(own === undefined ? [] : [own])])];
  }

  /** Why what the Service says of its load balancer was not believed, once. */
  takeRefusedArns(key: ServiceKey): readonly Reason[] {
    return this.#lookup.takeRefusedArns(key);
  }

  /** Resolves to why it is not let go yet: as long as our tags are on it, it would go with its Service. */
  async disown(key: ServiceKey, snapshot: Snapshot): Promise<Reason | undefined> {
    this.departed.disowned.add(key);
    for (const state of await this.stacksOf(key, snapshot)) {
      const isShared = [...state.services].some((other) => other !== key && snapshot.services.get(other)?.metadata.deleting === false);
      if (isShared) {
        const left = await this.release(state, snapshot, key);
        if (left !== undefined) return left;
        this.stacks.forgetMember(key, [state]);
        continue;
      }
      const { result } = await this.#passOf(state, snapshot, { disown: true });
      const failed = result.execution.outcomes.some((outcome) => outcome.result !== 'done');
      if (failed || result.unsettled) return result.errors.get('')?.[0] ?? disowning(state);
      if (result.plan.actions.length === 0 && result.plan.waits.length === 0) this.stacks.forgetStack(state.identity.key);
    }
    return undefined;
  }

  /** Does what no Service waits for, in the background. */
  startBackgroundWork(snapshot: Snapshot, now: number): void {
    this.background.start(now, this.driftSeconds, {
      sweepOrphans: () => this.sweep(snapshot),
      refreshTargets: () => this.#tendWaiting(snapshot),
      ...(this.#rules.isDue(now) ? { retryNodeRules: () => this.#finishRules(snapshot) } : {}),
    });
  }

  /** Of a Service that another provider is to serve what it has follows its nodes and pods until then. */
  async #tendWaiting(snapshot: Snapshot): Promise<number> {
    const { classless } = this.#components;
    const seconds: number[] = [this.driftSeconds];
    for (const key of servicesAwaitingProvider(snapshot, { classless })) {
      if (this.departed.releasing.has(key)) continue;
      try {
        for (const state of await this.stacksOf(key, snapshot)) seconds.push((await this.refreshTargets(state, snapshot)).requeueSeconds);
        const { cloud, settings } = await this.#open(snapshot);
        await this.#passRules(cloud, settings, snapshot);
      } catch (error) {
        if (!(error instanceof AwsError)) throw error;
        this.#components.log.warn(
          { service: key, reason: reasonText(reasonOfError(error)) },
          'what serves it could not be told of its targets',
        );
      }
    }
    return Math.min(...seconds);
  }

  async sweep(snapshot: Snapshot): Promise<void> {
    const { cloud, settings } = await this.#open(snapshot);
    const owned = await scanOwned(cloud, settings);
    const used = stacksInUse(snapshot, settings);
    const isBeingLeft = (state: StackState | undefined): boolean =>
      state !== undefined && this.departed.hasRemainingParts(state, settings, snapshot);
    const isUsed = (stack: string): boolean =>
      used.has(stack) || isBeingLeft(this.stacks.get(stack)) || this.departed.mayBeUnreadable(stack);
    this.stacks.recordFound(new Map([...owned].filter(([stack]) => used.has(stack))));
    for (const stack of owned.keys()) this.stacks.getOrCreate(parseStackKey(stack));
    const { actions, expired } = decideOrphans(owned, isUsed, this.#now(), settings.orphanSeconds, this.departed.isVanished(snapshot));
    // Of what is gone nothing is remembered, such as where it has sent to.
    for (const { identity } of this.stacks.all)
      if (!owned.has(identity.key) && !isUsed(identity.key)) this.stacks.forgetStack(identity.key);
    await execute(cloud, actions, (outcome) => this.#told('', outcome));
    for (const stack of expired) {
      this.stacks.recordFound(new Map([[stack, owned.get(stack) ?? []]]));
      const state = this.stacks.getOrCreate(parseStackKey(stack));
      this.#components.log.warn({ stack, resources: state.known.ids }, 'deletes what has had no Service for long');
      // One that AWS does not let go of keeps nobody else.
      const left = await this.release(state, snapshot).catch((error: unknown) => {
        if (!(error instanceof AwsError)) throw error;
        return reasonOfError(error);
      });
      if (left !== undefined && left.code !== 'AwsProvisioning')
        this.#components.log.warn({ stack, code: left.code, reason: reasonText(left) }, 'an orphan is not deleted yet');
    }
    await this.#finishRules(snapshot);
  }

  /** Whether the load balancer of the Service sends to pods, so that it matters which there are. */
  hasPodTargets(key: ServiceKey): boolean {
    return this.stacks.stacksWith(key).some(({ last }) => {
      const { desired } = last ?? {};
      return desired === undefined || (desired.kind === 'nlb' && desired.targetGroups.some(({ targetType }) => targetType === 'ip'));
    });
  }

  async #open(snapshot: Snapshot): Promise<Connection> {
    const opening = (this.#connection ??= this.#components.connect([...snapshot.nodes.values()]));
    const connection = await opening.catch((error: unknown) => {
      if (this.#connection === opening) this.#connection = undefined;
      throw error;
    });
    return connection;
  }

  async #find(identity: StackIdentity, services: readonly Service[], snapshot: Snapshot): Promise<void> {
    await this.#lookup.discover(await this.#open(snapshot), identity, services);
  }

  /** Whoever waits for his turn works with what there is when it comes: who belongs to it, which nodes. */
  async #passOf(
    state: StackState,
    snapshot: Snapshot,
    { disown = false, releasing }: { readonly disown?: boolean; readonly releasing?: ServiceKey | undefined } = {},
  ): Promise<{ readonly result: StackResult; /** By those who belong to it, or are not gone yet. */ readonly isUsed: boolean }> {
    const { cloud, settings } = await this.#open(snapshot);
    const { identity: stack, known } = state;
    const { result, members } = await state.queue.run(async () => {
      const members = disown ? [] : membersOf(stack.key, snapshot, settings);
      const circumstances = await this.#circumstances(cloud, settings, snapshot, members);
      const isVanished = this.departed.isVanished(snapshot);
      const movedAway = disown ? (): undefined => undefined : this.departed.movedAway(stack.key, settings, snapshot, releasing);
      const input = { stack, members, disown, known, circumstances, isVanished, movedAway, releasing, now: this.#now() };
      return { members, result: await reconcileStack(cloud, settings, input, (outcome) => this.#told(stack.key, outcome)) };
    });
    recordResult(state, result);
    const wasStuck = state.blockedDeletion !== undefined;
    state.blockedDeletion = state.deletionWatch.record(result.execution, this.#now());
    if (state.blockedDeletion !== undefined && !wasStuck) this.#toldStuck(stack.key, state.blockedDeletion);
    this.#facts.invalidate([...result.errors.values()].flat());
    return { result, isUsed: members.length > 0 || result.hasMovedMembers };
  }

  async #circumstances(
    cloud: Cloud,
    settings: AwsSettings,
    snapshot: Snapshot,
    members: readonly Member[],
    waits = false,
  ): Promise<Omit<Circumstances, 'existing'>> {
    const needsCertificates = members.some(({ values }) => values.certificateHosts !== undefined);
    const written = members.flatMap(({ kind, values }) => (kind === 'nlb' ? writtenCertificates(values) : []));
    return {
      facts: await this.#facts.read(cloud, settings, needsCertificates, written, waits),
      settings,
      nodes: [...snapshot.nodes.values()],
      slices: (key) => snapshot.endpointSlices(key),
    };
  }

  #passRules(cloud: Cloud, settings: AwsSettings, snapshot: Snapshot): Promise<readonly Reason[]> {
    return this.#rules.reconcile(cloud, settings, snapshot, this.departed.allServicesKnown(snapshot));
  }

  async #finishRules(snapshot: Snapshot): Promise<void> {
    const { cloud, settings } = await this.#open(snapshot);
    await this.#rules.retryDue(cloud, settings, snapshot, this.departed.allServicesKnown(snapshot));
  }

  #toldStuck(stack: string, stuck: Reason): void {
    this.#components.log.warn({ stack, reason: reasonText(stuck) }, 'AWS does not let go of something that is in use');
  }

  #told(stack: string, outcome: Outcome): void {
    const { log } = this.#components;
    const { id, operation, reason } = outcome.action;
    if (outcome.result === 'done') log.info({ stack, action: id, operation, reason }, 'AWS changed');
    else if (outcome.result === 'failed') {
      const { code, awsCode, requestId, message } = outcome.error;
      log.warn({ stack, action: id, operation, code, awsCode, requestId, message }, 'call to AWS failed');
    }
  }

  #now(): number {
    return this.#components.clock.date().getTime();
  }
}

function servicesOf(members: readonly Member[]): Service[] {
  return members.map(({ service }) => service);
}

function disowning({ identity }: StackState): Reason {
  return reason('AwsProvisioning', { waitsFor: `AWS to take the tags off ${identity.key}` });
}

function deleting({ identity, blockedDeletion: stuck }: StackState): Reason {
  return stuck ?? reason('AwsProvisioning', { waitsFor: `AWS to delete what is left of ${identity.key}` });
}
