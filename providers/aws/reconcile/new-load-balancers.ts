import type { Reconciliation } from '../../../src/controller/provider.ts';
import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import { limits } from '../model/limits.ts';
import { unlessMissing } from '../observe/tolerate-missing.ts';
import { isActive, nameOf } from '../plan/serving-status.ts';
import type { SharedComponents } from '../stacks/shared-components.ts';
import type { StackResult } from '../stacks/stack-result.ts';

interface NewLoadBalancer {
  readonly arn: string;
  /** The result of the reconcile that created it. */
  readonly reconciliation: Reconciliation;
}

interface Published {
  readonly reconciliation: Reconciliation;
  readonly pollSeconds: number;
}

/**
 * NLBs that the last reconcile of their Service has created with all that belongs to them. All that is missing is their host name, which is
 * published before anything is checked: the states of 20 load balancers are one request, and a check is about eight requests for each.
 */
export class NewLoadBalancers {
  readonly #components: SharedComponents;
  readonly #unpublished = new Map<ServiceKey, NewLoadBalancer>();
  /** Services whose host name is published, while nothing has been checked. */
  readonly #unchecked = new Set<ServiceKey>();

  constructor(components: SharedComponents) {
    this.#components = components;
  }

  /** Returns what the provider does next with the new load balancer of the Service. Undefined: the Service has no new load balancer. */
  next(key: ServiceKey): 'host name' | 'check' | undefined {
    if (this.#unpublished.has(key)) return 'host name';
    return this.#unchecked.has(key) ? 'check' : undefined;
  }

  /** Records a new load balancer, and the result of the reconcile that has created it. */
  record(key: ServiceKey, arn: string, reconciliation: Reconciliation): void {
    this.#unpublished.set(key, { arn, reconciliation });
  }

  /**
   * Looks, once, whether the new load balancer is active. Resolves to the result for the Service and the seconds until its check; undefined
   * when it has no new load balancer. Rejects with AwsError.
   */
  async publish(key: ServiceKey, snapshot: Snapshot): Promise<Published | undefined> {
    const awaited = this.#unpublished.get(key);
    this.#unchecked.delete(key);
    if (awaited === undefined) return undefined;
    const { account, now } = this.#components;
    const { cloud } = await account.openToWrite(snapshot);
    this.#unpublished.delete(key);
    const LoadBalancerArns = [awaited.arn];
    const [found] = await unlessMissing(async () => (await cloud.call('elbv2:DescribeLoadBalancers', { LoadBalancerArns })).LoadBalancers);
    if (found === undefined || !isActive(found)) return { reconciliation: awaited.reconciliation, pollSeconds: limits.firstPollSeconds };
    this.#unchecked.add(key);
    const { reason: _, ...others } = awaited.reconciliation;
    const reconciliation: Reconciliation = { ...others, ingress: [{ hostname: nameOf(found), ipMode: 'VIP' }] };
    // Checks that begin together share requests.
    return { reconciliation, pollSeconds: limits.pollSeconds - ((now() / 1000) % limits.pollSeconds) };
  }

  forgetService(key: ServiceKey): void {
    this.#unpublished.delete(key);
    this.#unchecked.delete(key);
  }
}

/** Returns the ARN of the NLB if this reconcile has created it with all listeners of the Service, and nothing failed. */
export function createdCompletely({ execution, errors, desired }: StackResult, key: ServiceKey): string | undefined {
  const isWrong = [...errors.values()].flat().some(({ code }) => code !== 'AwsProvisioning');
  if (isWrong || desired?.kind !== 'nlb' || !desired.listeners.some(({ service }) => service === key)) return undefined;
  if (execution.outcomes.some(({ result }) => result !== 'done')) return undefined;
  const creation = execution.outcomes.find(({ action }) => action.operation === 'elbv2:CreateLoadBalancer');
  return execution.created.get(creation?.action.creates ?? '');
}
