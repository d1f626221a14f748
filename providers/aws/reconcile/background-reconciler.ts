import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import { reasonText, type Reason } from '../../../src/model/reasons.ts';
import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import { reasonOfThrown } from '../cloud/error-reason.ts';
import type { ClasslessMode } from '../model/settings.ts';
import type { NodeRules } from '../node-rules/node-rules.ts';
import { scanOwned, type Owned } from '../observe/scan.ts';
import { BackgroundWork } from '../schedule/background-work.ts';
import { logOutcome } from '../stacks/execution/action-log.ts';
import { execute } from '../stacks/execution/execute.ts';
import { decideOrphans, planOwner } from '../stacks/orphans.ts';
import type { SharedComponents } from '../stacks/shared-components.ts';
import type { StackReconciler } from '../stacks/stack-reconciler.ts';
import { parseStackKey } from '../stacks/stack-registry.ts';
import { servicesAwaitingProvider, stacksInUse } from '../stacks/stack-users.ts';
import { releaseStack } from './release-stack.ts';

interface BackgroundReconcilerComponents extends SharedComponents {
  readonly classless: ClasslessMode;
  readonly stacks: StackReconciler;
  readonly rules: NodeRules;
}

/**
 * The work that no Service waits for: deletes orphans, refreshes targets of Services that wait for another provider, retries node rules.
 */
export class BackgroundReconciler {
  readonly #components: BackgroundReconcilerComponents;
  readonly #work: BackgroundWork;
  /** The resources and tags of each stack at the last scan of the account. */
  #scanned: ReadonlyMap<string, string> = new Map();
  readonly #drifted = new Set<ServiceKey>();

  constructor(components: BackgroundReconcilerComponents) {
    this.#components = components;
    this.#work = new BackgroundWork(components.log);
  }

  /** Nodes or pods have changed: refreshes targets in the next round. */
  refreshTargetsSoon(): void {
    this.#work.refreshTargetsSoon();
  }

  /** A Service is gone whose resources become orphans. */
  sweepSoon(): void {
    this.#work.sweepSoon(this.#components.now());
  }

  /** Starts the work that is due. `now`: milliseconds since the epoch. */
  startDue(snapshot: Snapshot, now: number): void {
    const { registry, rules } = this.#components;
    this.#work.start(now, registry, {
      sweepOrphans: () => this.#sweepOrphans(snapshot),
      refreshTargets: () => this.#refreshTargets(snapshot),
      ...(rules.isDue(now) ? { retryNodeRules: () => rules.retryDue(snapshot) } : {}),
    });
  }

  /** Returns, once, the Services whose resources or tags have changed between the last two scans of the account. */
  takeDrifted(): ServiceKey[] {
    const drifted = [...this.#drifted];
    this.#drifted.clear();
    return drifted;
  }

  /**
   * Compares a scan with the one before. This finds lost resources and tags without a read for each load balancer. Returns whether all is
   * the same.
   */
  #recordDrifted(owned: ReadonlyMap<string, readonly Owned[]>): boolean {
    const before = this.#scanned;
    this.#scanned = new Map([...owned].map(([stack, resources]) => [stack, JSON.stringify(resources)]));
    for (const [stack, text] of before) {
      if (this.#scanned.get(stack) === text) continue;
      const state = this.#components.registry.get(stack);
      state?.recent.forget();
      for (const key of state?.services ?? []) this.#drifted.add(key);
    }
    return before.size === this.#scanned.size && [...before].every(([stack, text]) => this.#scanned.get(stack) === text);
  }

  /**
   * Marks resources that have our tags but no Service, and deletes those whose mark is older than `orphanSeconds`. Then retries node rules.
   */
  async #sweepOrphans(snapshot: Snapshot): Promise<boolean> {
    const { account, registry, departed, rules, now, log } = this.#components;
    const { cloud, settings, owner } = await account.open(snapshot);
    const owned = await owner.duringScan(() => scanOwned(cloud, settings));
    // Of what the scan has found, some belongs to another cluster.
    if (owner.conflict !== undefined) return false;
    const isSame = this.#recordDrifted(owned);
    const inUse = stacksInUse(snapshot, settings);
    const isUsed = (stack: string): boolean => {
      const state = registry.get(stack);
      const hasParts = state !== undefined && departed.hasRemainingParts(state, settings, snapshot);
      return inUse.has(stack) || hasParts || departed.mayBeUnreadable(stack);
    };
    registry.recordFound(new Map([...owned].filter(([stack]) => inUse.has(stack))));
    for (const stack of owned.keys()) registry.getOrCreate(parseStackKey(stack));
    const { actions, expired } = decideOrphans(owned, isUsed, now(), settings.orphanSeconds, departed.isVanished(snapshot));
    for (const { identity } of registry.all) if (!owned.has(identity.key) && !isUsed(identity.key)) registry.forgetStack(identity.key);
    await execute(cloud, [...planOwner(owned, settings), ...actions], (outcome) => logOutcome(log, '', outcome));
    for (const stack of expired) {
      registry.recordFound(new Map([[stack, owned.get(stack) ?? []]]));
      const remaining = await this.#releaseOrphan(stack, snapshot);
      if (remaining !== undefined && remaining.code !== 'AwsProvisioning')
        log.warn({ stack, code: remaining.code, reason: reasonText(remaining) }, 'an orphan is not deleted yet');
    }
    await rules.retryDue(snapshot);
    return isSame && owned.keys().every(isUsed);
  }

  /** Resolves to what remains. An error of AWS does not keep other orphans from being deleted. */
  async #releaseOrphan(stack: string, snapshot: Snapshot): Promise<Reason | undefined> {
    const { registry, log } = this.#components;
    const state = registry.getOrCreate(parseStackKey(stack));
    log.warn({ stack, resources: state.known.ids }, 'deleting an orphan: its resources have had no Service for a long time');
    return releaseStack(this.#components, state, snapshot).catch(reasonOfThrown);
  }

  /**
   * Gives current targets to load balancers of Services that another provider claims but does not serve yet. Resolves to the seconds until
   * the next refresh.
   */
  async #refreshTargets(snapshot: Snapshot): Promise<number> {
    const { classless, registry, departed, stacks, rules, log } = this.#components;
    const seconds: number[] = [registry.driftSeconds];
    for (const key of servicesAwaitingProvider(snapshot, { classless })) {
      if (departed.releasing.has(key)) continue;
      try {
        for (const state of await stacks.findAll(key, snapshot)) {
          const { result } = await stacks.reconcile(state, snapshot, { kind: 'serve' });
          seconds.push(result.requeueSeconds);
        }
        await rules.reconcile(snapshot);
      } catch (error) {
        log.warn({ service: key, reason: reasonText(reasonOfThrown(error)) }, 'the targets of a load balancer could not be refreshed');
      }
    }
    return Math.min(...seconds);
  }
}
