import { limits } from '../model/limits.ts';

/**
 * The known resources of a stack: ARNs, security group ids and names of Classic ELBs. AWS may not list a new resource, or its tags, for a
 * while, so the time of its creation is kept.
 */
export class KnownResources {
  readonly #made = new Map<string, number | undefined>();
  /** Names of resources whose creation got no clear answer. They may exist, and may belong to this stack or to another owner. */
  readonly doubtful = new Set<string>();

  constructor(ids: Iterable<string> = []) {
    for (const id of ids) this.#made.set(id, undefined);
  }

  get ids(): readonly string[] {
    return [...this.#made.keys()];
  }

  /** Records that AWS shows the resource. Its creation time is not needed any more. */
  recordFound(id: string): void {
    this.#made.set(id, undefined);
  }

  recordCreated(id: string, now: number): void {
    this.#made.set(id, now);
  }

  forgetResource(id: string): void {
    this.#made.delete(id);
  }

  /** True if the resource was created so recently that AWS may not show it yet. */
  isFresh(id: string, now: number): boolean {
    const made = this.#made.get(id);
    return made !== undefined && now - made < limits.visibilitySeconds * 1000;
  }
}

export const isLoadBalancerArn = (id: string): boolean => id.includes(':loadbalancer/');
export const isEndpointServiceId = (id: string): boolean => /^vpce-svc-[0-9a-f]+$/.test(id);
export const isTargetGroupArn = (id: string): boolean => id.includes(':targetgroup/');
/** An id that is neither an ARN nor that of a security group or endpoint service is the name of a Classic ELB. */
export const isClassicName = (id: string): boolean => !id.startsWith('arn:') && !/^sg-[0-9a-f]+$/.test(id) && !isEndpointServiceId(id);
