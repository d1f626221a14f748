import { AwsEc2QueryProtocol } from '@aws-sdk/core/protocols';
import { ElasticLoadBalancingV2Client, type ElasticLoadBalancingV2ClientConfig } from '@aws-sdk/client-elastic-load-balancing-v2';
import { BinaryDecisionDiagram, EndpointCache, decideEndpoint, type EndpointParams } from '@smithy/core/endpoints';
import { endpointRules } from './model.ts';

/**
 * Returns a client of EC2. Loading the SDK's own client takes 70 MB, because it holds the model of more than 700 operations. The SDK's clients differ
 * only in the configuration below, so this is the client of another service with the configuration of EC2.
 */
export function ec2Client(configuration: ElasticLoadBalancingV2ClientConfig): ElasticLoadBalancingV2Client {
  const ofEc2 = {
    serviceId: 'EC2',
    signingName: 'ec2',
    apiVersion: version,
    protocol: AwsEc2QueryProtocol,
    protocolSettings: { defaultNamespace: 'com.amazonaws.ec2', xmlNamespace: `http://ec2.amazonaws.com/doc/${version}`, version },
    endpointProvider,
  };
  return new ElasticLoadBalancingV2Client({ ...configuration, ...ofEc2 });
}

/** The version of EC2's interface, which AWS has not changed since. */
const version = '2016-11-15';

const { nodes, root, conditions, results } = endpointRules;
const rules = BinaryDecisionDiagram.from(Int32Array.from(nodes), root, conditions, results);
const endpoints = new EndpointCache({ size: 50, params: ['Endpoint', 'Region', 'UseDualStack', 'UseFIPS'] });

type EndpointProvider = NonNullable<ElasticLoadBalancingV2ClientConfig['endpointProvider']>;

const endpointProvider: EndpointProvider = (parameters, context) => {
  const endpointParams = parameters as EndpointParams;
  return endpoints.get(endpointParams, () => decideEndpoint(rules, { ...context, endpointParams }));
};
