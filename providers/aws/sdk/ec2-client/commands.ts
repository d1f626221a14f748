import type * as Sdk from '@aws-sdk/client-ec2';
import { makeBuilder } from '@smithy/core/client';
import { getEndpointPlugin } from '@smithy/core/endpoints';
import { operationShape } from './model.ts';
import { operations, type Ec2Operation } from './operations.ts';

const endpointParameters = {
  UseFIPS: { type: 'builtInParams', name: 'useFipsEndpoint' },
  Endpoint: { type: 'builtInParams', name: 'endpoint' },
  Region: { type: 'builtInParams', name: 'region' },
  UseDualStack: { type: 'builtInParams', name: 'useDualstackEndpoint' },
} as const;

const makeCommand = makeBuilder(endpointParameters, 'AmazonEC2', 'EC2Client', getEndpointPlugin);

type Ec2Commands = { readonly [Operation in Ec2Operation as `${Operation}Command`]: (typeof Sdk)[`${Operation}Command`] };

/** The commands as the SDK's client of EC2 defines them, of which only the types are loaded. */
export const ec2Commands = Object.fromEntries(
  operations.map((operation): [string, unknown] => [
    `${operation}Command`,
    makeCommand({}, () => [], operation, operationShape(operation)),
  ]),
) as unknown as Ec2Commands;
