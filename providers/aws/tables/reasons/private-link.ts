import { lastingReason } from '../../../../src/model/reasons/entry.ts';

export interface OfEndpointService {
  /** "vpce-svc-...". */
  readonly service: string;
  /** "com.amazonaws.vpce.REGION.vpce-svc-...". */
  readonly name: string;
}

/** Reasons about PrivateLink endpoint services. */
export const awsPrivateLinkReasons = {
  AwsEndpointServiceInUse: lastingReason({
    brief: 'Clients are connected to the endpoint service, so AWS does not delete it, nor its NLB',
    /** `endpoints`: with their accounts. `ids`: of the same endpoints. `others`: how many more there are. */
    says: (d: OfEndpointService & { readonly endpoints: string; readonly ids: string; readonly others: number }) =>
      `endpoint service ${d.name} cannot be deleted, because clients are connected to it${d.endpoints === '' ? '' : `: ${d.endpoints}`}${d.others === 0 ? '' : ` and ${d.others} more`}`,
    fix: (d) =>
      `let their owners delete the endpoints, or reject them: aws ec2 reject-vpc-endpoint-connections --service-id ${d.service} --vpc-endpoint-ids ${d.ids === '' ? 'ENDPOINT...' : d.ids}; Herald tries again at growing intervals of at most 10 minutes`,
  }),
  AwsEndpointServiceUnverified: lastingReason({
    brief: 'AWS has not verified the private DNS name of the endpoint service',
    says: (d: OfEndpointService & { readonly domain: string; readonly state: string; readonly record: string; readonly value: string }) =>
      `private DNS name ${d.domain} of endpoint service ${d.name} is not verified (${d.state}), so clients cannot use it`,
    fix: (d) =>
      `add a TXT record ${d.record === '' ? '' : `${d.record} `}with the value ${d.value} to the domain, then run aws ec2 start-vpc-endpoint-service-private-dns-verification --service-id ${d.service}`,
  }),
};
