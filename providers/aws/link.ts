import type { Node } from '../../src/model/cluster.ts';
import { serviceKey, type ServiceKey } from '../../src/model/metadata.ts';
import { reason, type Reason } from '../../src/model/reasons.ts';
import type { Snapshot } from '../../src/model/snapshot.ts';
import type { Clock } from '../../src/system/clock.ts';
import type { Log } from '../../src/system/log.ts';
import type { Cloud } from './cloud.ts';
import type { Preview } from '../../src/controller/provider.ts';
import type { Circumstances, StackIdentity } from './desire/circumstances.ts';
import { decideAwsClaim } from './desire/claim.ts';
import type { Facts } from './desire/facts.ts';
import { memberOf, membersOf, stackOf } from './desire/stack.ts';
import { execute, type Outcome } from './execute.ts';
import { limits } from './limits.ts';
import { passNodeRules, type StackTargets } from './node-rules-pass.ts';
import { observeFacts } from './observe/facts.ts';
import { scanOwned } from './observe/scan.ts';
import { decideOrphans } from './orphans.ts';
import { decideStack, passStack, type PassResult } from './pass.ts';
import { planStack } from './plan/plan.ts';
import { Known } from './observe/known.ts';
import type { AwsSettings } from './settings.ts';
import { identityOf, Stacks, type StackState } from './stacks.ts';

export interface Connection {
  readonly cloud: Cloud;
  readonly settings: AwsSettings;
}

/** Finds out where the cluster is, and how AWS is reached. Rejects with AwsError where that cannot be told now. */
export type Connect = (nodes: readonly Node[]) => Promise<Connection>;

interface LinkComponents {
  readonly connect: Connect;
  readonly clock: Clock;
  readonly log: Log;
}

export interface StackPass {
  readonly state: StackState;
  readonly result: PassResult;
  /** What had to be done although nothing else was asked for. */
  readonly drift: readonly string[];
  readonly problems: readonly Reason[];
}

/** The connection to AWS with everything that is remembered of the account: stacks, facts, rules of nodes, orphans. */
export class AwsLink {
  readonly stacks = new Stacks();
  readonly #components: LinkComponents;
  #connection: Promise<Connection> | undefined;
  #scanned: Promise<void> | undefined;
  #facts: { readonly at: number; readonly value: Facts } | undefined;
  #rules: { readonly at: number; readonly text: string } | undefined;
  #sweptAt: number | undefined;
  #tidying = false;
  /** Something about the rules of nodes could not be done yet. */
  #rulesPending = false;
  #disowned = new Set<ServiceKey>();
  /** Services whose manifests cannot be read: what they have is no orphan. */
  #reserved: ReadonlySet<ServiceKey> = new Set();

  constructor(components: LinkComponents) {
    this.#components = components;
  }

  reserve(services: Iterable<ServiceKey>): void {
    this.#reserved = new Set(services);
  }

  /** How long one with which nothing is wrong is left alone: the more there are, the longer. */
  get driftSeconds(): number {
    const all = (this.stacks.size * limits.driftReadsPerStack) / limits.driftReadsPerSecond;
    return Math.max(limits.driftSeconds, all);
  }

  /** One pass over a stack with the members that it has now, and over the rules of nodes where those are concerned. */
  async pass(identity: StackIdentity, snapshot: Snapshot): Promise<StackPass> {
    const { cloud, settings } = await this.#open(snapshot);
    const state = this.stacks.open(identity);
    const members = membersOf(identity.key, snapshot, settings);
    for (const { service } of members) this.#disowned.delete(serviceKey(service.metadata));
    const result = await this.#passOf(state, members, false, snapshot);
    const desired = result.desired === undefined ? undefined : JSON.stringify(result.desired);
    const actions = result.plan.actions;
    const drift = desired !== undefined && state.settled === desired ? actions.map(({ id, reason }) => `${id}: ${reason}`) : [];
    if (desired !== undefined && actions.length === 0 && result.plan.waits.length === 0) state.settled = desired;
    if (result.targets !== undefined) state.targets = result.targets;
    const problems = await this.#passRules(cloud, settings, snapshot);
    return { state, result, drift, problems };
  }

  /** What a pass would do for the Service as it is in the snapshot, or for its absence. */
  async preview(key: ServiceKey, snapshot: Snapshot): Promise<Preview> {
    const { cloud, settings } = await this.#open(snapshot);
    const service = snapshot.services.get(key);
    const claim = service === undefined ? undefined : decideAwsClaim(service, snapshot.config, settings);
    const identity = service !== undefined && claim?.mine === true ? stackOf(memberOf(service, claim.kind)) : identityOf(key);
    const members = membersOf(identity.key, snapshot, settings);
    const { known } = this.stacks.get(identity.key) ?? { known: new Known() };
    const input = {
      stack: identity,
      members,
      known,
      circumstances: await this.#circumstances(cloud, settings, snapshot),
      now: this.#now(),
    };
    const { planInput, outcome, unsettled } = await decideStack(cloud, settings, input);
    const mayPlan = unsettled === undefined && (outcome === undefined || outcome.desired !== undefined);
    const { actions, waits, problems } = mayPlan ? planStack(planInput) : { actions: [], waits: [], problems: [] };
    return {
      actions,
      waits: waits.map((wait) => wait.for),
      reasons: [
        ...(outcome?.errors.get(key) ?? []),
        ...problems.filter(({ code }) => code !== 'AwsProvisioning'),
        ...(outcome?.warnings.get(key) ?? []),
      ],
    };
  }

  /** Undefined: what the stack had for those who left is gone. Those who still share it keep their part. */
  async vacate(state: StackState, snapshot: Snapshot): Promise<Reason | undefined> {
    const { cloud, settings } = await this.#open(snapshot);
    const members = membersOf(state.identity.key, snapshot, settings);
    const result = await this.#passOf(state, members, false, snapshot);
    const failed = result.execution.outcomes.some((outcome) => outcome.result !== 'done');
    if (members.length > 0) {
      const [wrong] = [...result.errors.values()].flat();
      if (result.desired === undefined || result.unsettled) return wrong ?? deleting(state);
      if (result.targets !== undefined) state.targets = result.targets;
      return failed ? (result.errors.get('')?.[0] ?? deleting(state)) : undefined;
    }
    if (!result.gone) return result.errors.get('')?.[0] ?? deleting(state);
    this.stacks.close(state.identity.key);
    await this.#passRules(cloud, settings, snapshot);
    return undefined;
  }

  /** Stacks of which the Service has a part, after a look at the account. */
  async stacksOf(key: ServiceKey, snapshot: Snapshot): Promise<StackState[]> {
    await this.#open(snapshot);
    return this.stacks.of(key);
  }

  /** Resolves to why it is not let go yet: as long as our tags are on it, it would go with its Service. */
  async disown(key: ServiceKey, snapshot: Snapshot): Promise<Reason | undefined> {
    await this.#open(snapshot);
    this.#disowned.add(key);
    for (const state of this.stacks.of(key)) {
      const isShared = [...state.services].some((other) => other !== key && snapshot.services.get(other)?.metadata.deleting === false);
      if (isShared) {
        const left = await this.vacate(state, snapshot);
        if (left !== undefined) return left;
        state.services.delete(key);
        continue;
      }
      const result = await this.#passOf(state, [], true, snapshot);
      const failed = result.execution.outcomes.some((outcome) => outcome.result !== 'done');
      if (failed || result.unsettled) return result.errors.get('')?.[0] ?? disowning(state);
      if (result.plan.actions.length === 0 && result.plan.waits.length === 0) this.stacks.close(state.identity.key);
    }
    return undefined;
  }

  /** What no Service waits for, in the background: looks for what has no Service any more, and finishes the rules of nodes. */
  tidy(snapshot: Snapshot, now: number): void {
    if (this.#tidying) return;
    const sweeps = this.#sweptAt === undefined || now - this.#sweptAt >= limits.sweepSeconds * 1000;
    if (!sweeps && !this.#rulesPending) return;
    if (sweeps) this.#sweptAt = now;
    this.#tidying = true;
    (sweeps ? this.sweep(snapshot) : this.#finishRules(snapshot))
      .catch((error: unknown) => this.#components.log.warn({ error }, 'AWS was not tidied up'))
      .finally(() => (this.#tidying = false))
      .catch(() => undefined);
  }

  async sweep(snapshot: Snapshot): Promise<void> {
    const { cloud, settings } = await this.#open(snapshot);
    const owned = await scanOwned(cloud, settings);
    const used = usedStacks(snapshot, settings);
    const isUsed = (stack: string): boolean =>
      used.has(stack) || this.stacks.get(stack)?.services.size !== 0 || [...this.#reserved].some((key) => belongsTo(stack, key));
    this.stacks.found(new Map([...owned].filter(([stack]) => used.has(stack))));
    for (const stack of owned.keys()) this.stacks.open(identityOf(stack));
    const { actions, expired } = decideOrphans(owned, isUsed, this.#now(), settings.orphanSeconds);
    await execute(cloud, actions, (outcome) => this.#told('', outcome));
    for (const stack of expired) {
      this.stacks.found(new Map([[stack, owned.get(stack) ?? []]]));
      const state = this.stacks.open(identityOf(stack));
      this.#components.log.warn({ stack, resources: state.known.ids }, 'deletes what has had no Service for long');
      await this.vacate(state, snapshot);
    }
  }

  async #open(snapshot: Snapshot): Promise<Connection> {
    const opening = (this.#connection ??= this.#components.connect([...snapshot.nodes.values()]));
    const connection = await opening.catch((error: unknown) => {
      if (this.#connection === opening) this.#connection = undefined;
      throw error;
    });
    const scanning = (this.#scanned ??= scanOwned(connection.cloud, connection.settings).then((owned) => this.stacks.found(owned)));
    await scanning.catch((error: unknown) => {
      if (this.#scanned === scanning) this.#scanned = undefined;
      throw error;
    });
    return connection;
  }

  async #passOf(state: StackState, members: ReturnType<typeof membersOf>, disown: boolean, snapshot: Snapshot): Promise<PassResult> {
    const { cloud, settings } = await this.#open(snapshot);
    const circumstances = await this.#circumstances(cloud, settings, snapshot);
    const input = { stack: state.identity, members, disown, known: state.known, circumstances };
    const result = await state.turns.run(() =>
      passStack(cloud, settings, { ...input, now: this.#now() }, (outcome) => this.#told(state.identity.key, outcome)),
    );
    state.last = result;
    // What was looked up may have changed since: the next pass looks again.
    if (result.errors.size > 0) this.#facts = undefined;
    return result;
  }

  async #circumstances(cloud: Cloud, settings: AwsSettings, snapshot: Snapshot): Promise<Omit<Circumstances, 'existing'>> {
    return {
      facts: await this.#factsOf(cloud, settings),
      settings,
      nodes: [...snapshot.nodes.values()],
      slices: (key) => snapshot.endpointSlices(key),
    };
  }

  async #factsOf(cloud: Cloud, settings: AwsSettings): Promise<Facts> {
    const now = this.#now();
    if (this.#facts === undefined || now - this.#facts.at > limits.factsSeconds * 1000) {
      this.#facts = { at: now, value: await observeFacts(cloud, settings) };
    }
    return this.#facts.value;
  }

  /** Looks at the rules of nodes when something about them has changed, and now and then. */
  async #passRules(cloud: Cloud, settings: AwsSettings, snapshot: Snapshot): Promise<readonly Reason[]> {
    if (!settings.manageNodeRules) return [];
    const states = [...this.stacks.all];
    const targets = states.flatMap((one): StackTargets[] => (one.targets === undefined ? [] : [one.targets]));
    const complete =
      this.#disowned.size === 0 &&
      [...usedStacks(snapshot, settings, 'served')].every((stack) => this.stacks.get(stack)?.targets !== undefined) &&
      states.every((one) => one.targets !== undefined || one.services.size === 0);
    const text = JSON.stringify([targets, complete]);
    const now = this.#now();
    if (this.#rules?.text === text && now - this.#rules.at < limits.driftSeconds * 1000) return [];
    const { execution, problems } = await passNodeRules(cloud, settings, targets, complete, (outcome) => this.#told('', outcome));
    const isDone = execution.outcomes.every((outcome) => outcome.result === 'done');
    this.#rules = isDone ? { at: now, text } : undefined;
    this.#rulesPending = !isDone;
    return problems;
  }

  async #finishRules(snapshot: Snapshot): Promise<void> {
    const { cloud, settings } = await this.#open(snapshot);
    await this.#passRules(cloud, settings, snapshot);
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

function disowning({ identity }: StackState): Reason {
  return reason('AwsProvisioning', { waitsFor: `AWS to take the tags off ${identity.key}` });
}

function deleting({ identity }: StackState): Reason {
  return reason('AwsProvisioning', { waitsFor: `AWS to delete what is left of ${identity.key}` });
}

/** Stacks that some Service is about: `any`, also one that is being deleted or disowned; or only those that are served. */
function usedStacks({ services, config }: Snapshot, settings: AwsSettings, which: 'any' | 'served' = 'any'): ReadonlySet<string> {
  const used = new Set<string>();
  for (const service of services.values()) {
    const claim = decideAwsClaim(service, config, settings);
    if (!claim.mine) continue;
    const member = memberOf(service, claim.kind);
    const isServed = !service.metadata.deleting && member.values.disown !== true;
    if (which === 'any' || isServed) used.add(stackOf(member).key);
  }
  return used;
}

function belongsTo(stack: string, service: ServiceKey): boolean {
  return stack === service || (stack.startsWith('shared:') && identityOf(stack).namespace === service.split('/')[0]);
}
