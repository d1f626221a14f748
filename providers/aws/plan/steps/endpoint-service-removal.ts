import type { ObservedEndpointService } from '../../model/observed.ts';
import type { Steps } from './steps.ts';

/**
 * Plans the deletion of endpoint services, each once in a plan. Returns the ids of the actions: AWS deletes no NLB that an endpoint service has. AWS
 * refuses the deletion while clients are connected.
 */
export function planEndpointServiceRemoval(steps: Steps, services: readonly ObservedEndpointService[], reason: string): string[] {
  return services.map(({ service: { ServiceId, ServiceName } }) => {
    const id = `endpoint service ${ServiceName}: delete`;
    const isPlanned = steps.actions.some((action) => action.id === id);
    if (!isPlanned) steps.addAction(id, 'ec2:DeleteVpcEndpointServiceConfigurations', { input: { ServiceIds: [ServiceId] }, reason });
    return id;
  });
}
