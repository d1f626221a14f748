import type { Claim, Provider, Reconciliation, Released } from '../../src/controller/provider.ts';
import type { ResourceHolder } from '../../src/controller/provider-parts.ts';
import type { ServiceKey } from '../../src/model/objects/metadata.ts';
import { reason, type Reason } from '../../src/model/reasons.ts';
import type { Service } from '../../src/model/objects/service.ts';
import type { Snapshot } from '../../src/model/store/snapshot.ts';
import { classes, decideAwsClaim } from './desire/claim.ts';
import { finalizer, hasOurFinalizer } from './model/service-metadata.ts';

/**
 * Replaces AwsProvider when the controller runs without AWS. It calls nothing and reports this on the Services that need AWS. A Service that an
 * earlier controller served keeps its finalizer, so it cannot be deleted until a controller serves AWS again.
 */
export class SwitchedOffAws implements Provider, ResourceHolder {
  readonly name = 'aws';

  /** Leaves the class of the AWS Load Balancer Controller to that controller, except for Services that Herald served before. */
  claim(service: Service, { config }: Snapshot): Claim {
    const claim = decideAwsClaim(service, config, { classless: 'off' });
    if (!claim.mine || hasOurFinalizer(service) || service.loadBalancerClass !== classes.nlbAlias) return claim;
    return { mine: false, reason: reason('OtherLoadBalancerClass', { class: classes.nlbAlias, ours: classes.nlb }) };
  }

  reconcile(service: Service): Promise<Reconciliation> {
    return Promise.resolve({ ingress: service.ingress, reason: switchedOff(service) });
  }

  release(key: ServiceKey, { services }: Snapshot): Promise<Released> {
    const service = services.get(key);
    return Promise.resolve(service !== undefined && hasOurFinalizer(service) ? { remaining: switchedOff(service) } : {});
  }

  holds(_: ServiceKey, service: Service | undefined): boolean {
    return service !== undefined && hasOurFinalizer(service);
  }
}

function switchedOff(service: Service): Reason {
  return reason('AwsSwitchedOff', { finalizer: hasOurFinalizer(service) ? finalizer : '' });
}
