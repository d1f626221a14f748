import { reason } from '../../../../src/model/reasons.ts';
import type { Cloud } from '../../cloud/cloud.ts';
import { AwsError, unlessFailed } from '../../cloud/error.ts';
import { limits } from '../../model/limits.ts';
import type { Action } from '../../plan/steps/action.ts';

/** States of endpoints that keep AWS from deleting their service. */
const connectedStates: ReadonlySet<string> = new Set(['available', 'pending', 'pendingAcceptance']);

/**
 * Returns the refusal of a deletion with what is in its way, where AWS does not say that: the endpoints of clients that are connected to an
 * endpoint service. Other errors are returned as they are.
 */
export async function withBlockers(cloud: Cloud, { id, operation, input }: Action, error: AwsError): Promise<AwsError> {
  if (operation !== 'ec2:DeleteVpcEndpointServiceConfigurations' || error.code !== 'inUse') return error;
  const [ServiceId] = input.ServiceIds;
  // A failure leaves the refusal as the error to report.
  const listed = await unlessFailed(() => cloud.call('ec2:DescribeVpcEndpointConnections', { ServiceId }));
  const endpoints = listed?.VpcEndpointConnections.filter(({ VpcEndpointState }) => connectedStates.has(VpcEndpointState)) ?? [];
  const { code, awsCode, requestId, message, cause } = error;
  const name = id.replace(/^endpoint service (.*): delete$/, '$1');
  const shown = endpoints.slice(0, limits.shownEndpoints).map(({ VpcEndpointId, VpcEndpointOwner }) => ({
    id: VpcEndpointId,
    owner: VpcEndpointOwner,
  }));
  const blocked = reason('AwsEndpointServiceInUse', {
    service: ServiceId,
    name,
    endpoints: shown.map((one) => `${one.id}${one.owner === '' ? '' : ` of account ${one.owner}`}`).join(', '),
    ids: shown.map((one) => one.id).join(' '),
    others: endpoints.length - shown.length,
  });
  return new AwsError({ code, operation, awsCode, requestId, message, cause, reason: blocked });
}
