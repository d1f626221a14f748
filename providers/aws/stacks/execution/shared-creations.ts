import type { Cloud } from '../../cloud/cloud.ts';
import type { Input, Operation, Output } from '../../cloud/operations.ts';
import { limits } from '../../model/limits.ts';

/**
 * Lets concurrent reconciles create a security group once. All load balancers share the group of the cluster, so the first reconciles all
 * find that it is missing. Each of them gets the answer of the first creation, for as long as AWS may not list the group.
 */
export class SharedCreations implements Cloud {
  readonly #cloud: Cloud;
  readonly #now: () => number;
  /** By input. */
  readonly #created = new Map<string, { readonly at: number; readonly answer: Promise<unknown> }>();

  /** `now`: milliseconds since the epoch. */
  constructor(cloud: Cloud, now: () => number) {
    this.#cloud = cloud;
    this.#now = now;
  }

  async call<O extends Operation>(operation: O, input: Input<O>): Promise<Output<O>> {
    // A deleted group is created anew.
    if (operation === 'ec2:DeleteSecurityGroup') this.#created.clear();
    const call = (): Promise<Output<O>> => this.#cloud.call(operation, input);
    return operation === 'ec2:CreateSecurityGroup' ? this.#once(JSON.stringify(input), call) : call();
  }

  async #once<T>(key: string, create: () => Promise<T>): Promise<T> {
    const now = this.#now();
    for (const [key, { at }] of this.#created) if (now - at >= limits.visibilitySeconds * 1000) this.#created.delete(key);
    const known = this.#created.get(key);
    if (known !== undefined) return (await known.answer) as T;
    const answer = create();
    this.#created.set(key, { at: now, answer });
    answer.catch(() => this.#created.delete(key));
    return answer;
  }
}
