import type { Node } from '../../../../src/model/objects/cluster.ts';
import type { ReadOnlyCloud } from '../../cloud/cloud.ts';
import { AwsError } from '../../cloud/error.ts';

/** spec.providerID of an instance: zone and instance id. */
const providerId = /^aws:\/\/\/([^/]+)\/(i-[0-9a-f]+)$/;

/** Returns the region of a zone: "eu-west-1" for "eu-west-1a". For the local zone "us-west-2-lax-1a" it returns the parent region. */
export function regionOfZone(zone: string): string | undefined {
  return /^[a-z]{2}(?:-[a-z]+)+?-\d+/.exec(zone)?.[0];
}

/** Returns the region of the nodes from their label or providerID, so Herald need not ask the instance metadata service (IMDS). */
export function regionOfNodes(nodes: Iterable<Node>): string | undefined {
  for (const { metadata, providerID = '' } of nodes) {
    const [, zone] = providerId.exec(providerID) ?? [];
    if (zone === undefined) continue;
    const region = metadata.labels['topology.kubernetes.io/region'] ?? regionOfZone(zone);
    if (region !== undefined) return region;
  }
  return undefined;
}

/** Asks for several instances, because some may be terminated already. */
const maximumInstances = 20;

/** Finds the VPC of the nodes with one request about their instances. Rejects with AwsError if the VPC cannot be determined now. */
export async function vpcOfNodes(cloud: ReadOnlyCloud, nodes: Iterable<Node>): Promise<string> {
  const InstanceIds = [...nodes].flatMap((node) => providerId.exec(node.providerID ?? '')?.[2] ?? []).slice(0, maximumInstances);
  const [first] = InstanceIds;
  if (first === undefined) throw unknownLocation('which VPC? No Node has a spec.providerID of AWS');
  const { Instances } = await cloud.call('ec2:DescribeInstances', { InstanceIds });
  const [vpc, ...others] = [...new Set(Instances.map(({ VpcId }) => VpcId))].toSorted();
  if (vpc === undefined) throw unknownLocation(`which VPC? AWS knows no instance ${first} of a Node in this region`);
  if (others.length > 0) throw unknownLocation(`which VPC? The nodes are in ${[vpc, ...others].join(' and ')}`);
  return vpc;
}

/** The error for an unknown region or VPC. It may go away when other nodes appear. */
export function unknownLocation(message: string): AwsError {
  return new AwsError({ code: 'place', operation: 'ec2:DescribeInstances', awsCode: '', requestId: '', message });
}
