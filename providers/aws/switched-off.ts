import type { Claim, Provider, Reconciliation, Released } from '../../src/controller/provider.ts';
import type { ServiceKey } from '../../src/model/metadata.ts';
import { reason, type Reason } from '../../src/model/reasons.ts';
import type { Service } from '../../src/model/service.ts';
import type { Snapshot } from '../../src/model/snapshot.ts';
import { classes, decideAwsClaim } from './desire/claim.ts';
import { finalizer, isHeld } from './model/service-metadata.ts';

/**
 * Stands in for AwsProvider in a controller of a cluster that serves nothing by AWS. It does nothing, and says so to those who wait for it: a Service that
 * an earlier controller has served keeps its finalizer, and so cannot be deleted, until one serves AWS again.
 */
export class SwitchedOffAws implements Provider {
  readonly name = 'aws';
  #snapshot: Snapshot | undefined;

  /** The class of the AWS Load Balancer Controller is that one's, unless the Service was ours before. */
  claim(service: Service, { config }: Snapshot): Claim {
    const claim = decideAwsClaim(service, config, { classless: 'off' });
    if (!claim.mine || isHeld(service) || service.loadBalancerClass !== classes.nlbAlias) return claim;
    return { mine: false, reason: reason('OtherLoadBalancerClass', { class: classes.nlbAlias, ours: classes.nlb }) };
  }

  adopt(snapshot: Snapshot): void {
    this.#snapshot = snapshot;
  }

  adoptOne(): readonly ServiceKey[] {
    return [];
  }
  withhold(): void {}
  leave(): void {}
  written(): readonly ServiceKey[] {
    return [];
  }

  reconcile(service: Service): Promise<Reconciliation> {
    return Promise.resolve({ ingress: service.ingress, reason: switchedOff(service) });
  }

  release(key: ServiceKey): Promise<Released> {
    const service = this.#snapshot?.services.get(key);
    const left = this.holds(key, service) && service !== undefined ? { left: switchedOff(service) } : {};
    return Promise.resolve({ addresses: [], retry: [], ...left });
  }

  holds(_: ServiceKey, service: Service | undefined): boolean {
    return service !== undefined && isHeld(service);
  }

  expire(): readonly ServiceKey[] {
    return [];
  }

  affected(_: unknown, snapshot: Snapshot): Iterable<ServiceKey> {
    this.#snapshot = snapshot;
    return [];
  }
}

function switchedOff(service: Service): Reason {
  return reason('AwsSwitchedOff', { finalizer: isHeld(service) ? finalizer : '' });
}
