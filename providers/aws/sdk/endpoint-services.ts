import { defined } from '../../../src/lang/defined.ts';
import { AwsError } from '../cloud/error.ts';
import type { EndpointServiceOperations } from '../cloud/endpoint-services.ts';
import { changeable, required } from './answers/answer.ts';
import { toEndpointConnection, toEndpointService } from './answers/ec2.ts';
import { classify } from './classify.ts';
import { ec2Commands } from './ec2-client/commands.ts';
import { limits } from './limits.ts';
import { allPages, type OperationsOf } from './send.ts';

const { pageItems: MaxResults } = limits;

/** The operations of EC2 about PrivateLink endpoint services, by the SDK. */
export const endpointServices: Pick<OperationsOf<'ec2'>, keyof EndpointServiceOperations> = {
  DescribeVpcEndpointServiceConfigurations: async ({ Filters }, send) => {
    const all = await allPages('ServiceConfigurations', (NextToken) => {
      const page = { Filters: changeable(Filters), MaxResults, ...defined({ NextToken }) };
      return send(new ec2Commands.DescribeVpcEndpointServiceConfigurationsCommand(page));
    });
    return { ServiceConfigurations: all.map(toEndpointService) };
  },

  DescribeVpcEndpointServicePermissions: async ({ ServiceId }, send) => {
    const all = await allPages('AllowedPrincipals', (NextToken) =>
      send(new ec2Commands.DescribeVpcEndpointServicePermissionsCommand({ ServiceId, MaxResults, ...defined({ NextToken }) })),
    );
    return { AllowedPrincipals: all.map(({ Principal }) => ({ Principal: required(Principal, 'Principal') })) };
  },

  DescribeVpcEndpointConnections: async ({ ServiceId }, send) => {
    const all = await allPages('VpcEndpointConnections', (NextToken) => {
      const page = { Filters: [{ Name: 'service-id', Values: [ServiceId] }], MaxResults, ...defined({ NextToken }) };
      return send(new ec2Commands.DescribeVpcEndpointConnectionsCommand(page));
    });
    return { VpcEndpointConnections: all.map(toEndpointConnection) };
  },

  CreateVpcEndpointServiceConfiguration: async (input, send) => {
    const { ServiceConfiguration } = await send(new ec2Commands.CreateVpcEndpointServiceConfigurationCommand(changeable(input)));
    return { ServiceConfiguration: { ServiceId: required(ServiceConfiguration?.ServiceId, 'ServiceId') } };
  },

  ModifyVpcEndpointServiceConfiguration: (input, send) =>
    send(new ec2Commands.ModifyVpcEndpointServiceConfigurationCommand(changeable(input))),
  ModifyVpcEndpointServicePermissions: (input, send) => send(new ec2Commands.ModifyVpcEndpointServicePermissionsCommand(changeable(input))),

  // AWS answers with success, and lists the services that it did not delete.
  DeleteVpcEndpointServiceConfigurations: async (input, send) => {
    const operation = 'ec2:DeleteVpcEndpointServiceConfigurations';
    const { Unsuccessful = [] } = await send(new ec2Commands.DeleteVpcEndpointServiceConfigurationsCommand(changeable(input)));
    const [refused] = Unsuccessful;
    if (refused === undefined) return {};
    const { Code = '', Message = '' } = refused.Error ?? {};
    const { code } = classify(operation, { name: Code, message: Message, $metadata: { httpStatusCode: 400 } });
    throw new AwsError({ code, operation, awsCode: Code, requestId: '', message: `${operation}: ${Code}: ${Message}` });
  },
};
