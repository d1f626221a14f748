import { defined } from '../../../src/lang/defined.ts';
import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { LoadBalancer } from '../cloud/elbv2.ts';
import { tagKeys } from '../model/tags.ts';
import { classicServes, currentClassic } from './classic/classic.ts';
import type { Desired, DesiredClassic, DesiredNlb } from '../model/desired.ts';
import type { PlanInput } from './steps/input.ts';
import { currentNlb, servesAlready } from './nlb/nlb.ts';
import type { ObservedLoadBalancer } from '../model/observed.ts';
import { ownObserved } from '../model/own-resources.ts';

/** How the load balancers of a stack serve one Service. */
export interface ServingStatus {
  /** The name by which clients reach the Service now. Absent: there is none yet. */
  readonly hostname?: string;
  /**
   * True if all listeners of the Service exist and each port with targets has a healthy one. Then the previous load balancer may be
   * retired.
   */
  readonly serves: boolean;
}

/**
 * Returns the hostname to publish, and if the desired load balancer serves the Service. The desired load balancer is published once it is
 * active and has the Service's listeners; if another one has served so far, its targets must be healthy too. A published name stays as long
 * as its load balancer exists, because AWS reports a serving load balancer as `provisioning` while it changes it.
 */
export function servingStatusOf(input: PlanInput<Desired>, service: ServiceKey, published: readonly (string | undefined)[]): ServingStatus {
  const own = ownObserved(input.observed, input.cluster, input.stack);
  const { current, usable, serves } = input.desired.kind === 'nlb' ? nlb(input, service) : classic(input);
  const nlbs = own.loadBalancers.filter((one) => hasPart(one, service));
  const all = [...own.loadBalancers, ...own.classic].map(({ loadBalancer }) => nameOf(loadBalancer));
  const active = [...nlbs.filter(({ loadBalancer }) => isActive(loadBalancer)), ...own.classic].map(({ loadBalancer }) =>
    nameOf(loadBalancer),
  );
  const before = all.find((name) => name !== current && published.includes(name)) ?? active.find((name) => name !== current);
  const known = [
    usable && (serves || before === undefined) ? current : undefined,
    before,
    all.find((name) => published.includes(name)),
    usable ? current : active[0],
  ];
  const hostname = known.find((name) => name !== undefined);
  return { ...defined({ hostname }), serves };
}

interface Wanted {
  readonly current?: string;
  readonly usable: boolean;
  readonly serves: boolean;
}

function nlb(input: PlanInput<Desired>, service: ServiceKey): Wanted {
  const given = input as PlanInput<DesiredNlb>;
  const current = currentNlb(given);
  if (current === undefined) return { usable: false, serves: false };
  const listeners = given.desired.listeners.filter((one) => one.service === service);
  const isThere = (port: number): boolean =>
    current.listeners.some(({ listener, tags }) => listener.Port === port && tags[tagKeys.service] === service);
  const hasAll = listeners.length === 0 ? hasPart(current, service) : listeners.every(({ port }) => isThere(port));
  return {
    current: nameOf(current.loadBalancer),
    usable: isActive(current.loadBalancer) && hasAll,
    serves: listeners.length > 0 && hasAll && servesAlready({ ...given, desired: { ...given.desired, listeners } }, current),
  };
}

function classic(input: PlanInput<Desired>): Wanted {
  const given = input as PlanInput<DesiredClassic>;
  const current = currentClassic(given);
  if (current === undefined) return { usable: false, serves: false };
  return { current: nameOf(current.loadBalancer), usable: true, serves: classicServes(given.desired, current) };
}

function hasPart({ listeners }: ObservedLoadBalancer, service: ServiceKey): boolean {
  return listeners.some(({ tags }) => tags[tagKeys.service] === service);
}

/** The host name of a load balancer, as it is published. */
export function nameOf({ DNSName }: { readonly DNSName: string }): string {
  return DNSName.toLowerCase();
}

/** True when clients reach the load balancer. */
export function isActive({ State }: Pick<LoadBalancer, 'State'>): boolean {
  return State.Code === 'active' || State.Code === 'active_impaired';
}
