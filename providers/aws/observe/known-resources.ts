import { limits } from '../model/limits.ts';

/**
 * What is known to belong to a stack without asking: ARNs, and names of Classic ELBs. Whatever was just made may be missing from what
 * AWS lists, with or without its tags, so the time is kept.
 */
export class KnownResources {
  readonly #made = new Map<string, number | undefined>();
  /** Names of things whose creation was not answered clearly: they may be there, ours or another's. */
  readonly doubtful = new Set<string>();

  constructor(ids: Iterable<string> = []) {
    for (const id of ids) this.#made.set(id, undefined);
  }

  get ids(): readonly string[] {
    return [...this.#made.keys()];
  }

  /** Looked up and there: no time is needed any more. */
  recordFound(id: string): void {
    this.#made.set(id, undefined);
  }

  recordCreated(id: string, now: number): void {
    this.#made.set(id, now);
  }

  forgetResource(id: string): void {
    this.#made.delete(id);
  }

  /** Made so recently that AWS may not show it yet. */
  isFresh(id: string, now: number): boolean {
    const made = this.#made.get(id);
    return made !== undefined && now - made < limits.visibilitySeconds * 1000;
  }
}

export const isLoadBalancerArn = (id: string): boolean => id.includes(':loadbalancer/');
export const isTargetGroupArn = (id: string): boolean => id.includes(':targetgroup/');
/** What has neither an ARN nor the id of a security group is the name of a Classic ELB. */
export const isClassicName = (id: string): boolean => !id.startsWith('arn:') && !/^sg-[0-9a-f]+$/.test(id);
