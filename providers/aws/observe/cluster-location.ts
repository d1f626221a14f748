import type { Node } from '../../../src/model/objects/cluster.ts';
import type { ReadOnlyCloud } from '../cloud/cloud.ts';
import { AwsError } from '../cloud/error.ts';

/** spec.providerID of an instance: its zone, and its id. */
const providerId = /^aws:\/\/\/([^/]+)\/(i-[0-9a-f]+)$/;

/** The region of a zone: "eu-west-1" of "eu-west-1a", and of the local zone "us-west-2-lax-1a" the region that it belongs to. */
export function regionOfZone(zone: string): string | undefined {
  return /^[a-z]{2}(?:-[a-z]+)+?-\d+/.exec(zone)?.[0];
}

/** The region that the nodes are in, by their label or their machine: nobody has to ask the metadata service of the instance (IMDS). */
export function regionOfNodes(nodes: Iterable<Node>): string | undefined {
  for (const { metadata, providerID = '' } of nodes) {
    const [, zone] = providerId.exec(providerID) ?? [];
    if (zone === undefined) continue;
    const region = metadata.labels['topology.kubernetes.io/region'] ?? regionOfZone(zone);
    if (region !== undefined) return region;
  }
  return undefined;
}

/** Nodes that are asked for: some may be machines that are gone. */
const maximumInstances = 20;

/** The VPC that the nodes are in, by one question about their instances. Rejects with AwsError where that cannot be told now. */
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

/** It is not known where in AWS the cluster is: perhaps it will be when there are other nodes. */
export function unknownLocation(message: string): AwsError {
  return new AwsError({ code: 'place', operation: 'ec2:DescribeInstances', awsCode: '', requestId: '', message });
}
