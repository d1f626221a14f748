import { serviceKey } from '../../../src/model/objects/metadata.ts';
import { reason, type Reason } from '../../../src/model/reasons.ts';
import type { Service } from '../../../src/model/objects/service.ts';
import type { ReadOnlyCloud } from '../cloud/cloud.ts';
import { AwsError, isTransient } from '../cloud/error.ts';
import { limits } from '../model/limits.ts';
import type { Tags } from '../model/observed.ts';
import { arnAnnotation } from '../model/service-metadata.ts';
import type { AwsSettings } from '../model/settings.ts';
import { foreignOwner, isOurs, tagKeys, tagMap } from '../model/tags.ts';

/** The load balancers that a Service names in its annotation, after a check of their tags. */
interface RecordedArns {
  /** ARNs and names whose tags confirm that they belong to the Service's stack. */
  readonly ours: readonly string[];
  /** True if one belongs to another stack in which the Service may have had a part. That stack must be found. */
  readonly moved: boolean;
  /** Entries that do not belong to the Service. They must not be touched, regardless of who wrote them. */
  readonly refused: readonly Reason[];
}

const nlbArn = /^arn:aws[a-z-]*:elasticloadbalancing:([a-z0-9-]+):\d{12}:loadbalancer\/net\/[A-Za-z0-9-]{1,32}\/[0-9a-f]{1,32}$/;
const classicName = /^[A-Za-z0-9-]{1,32}$/;

/**
 * Reads the annotation with the recorded load balancers and checks the tags of each in AWS. The annotation alone proves nothing: any editor
 * of the Service may have written it, or it was copied with another Service. A deleted load balancer is skipped and is no error.
 */
export async function verifyRecordedArns(
  cloud: ReadOnlyCloud,
  service: Service,
  stack: string,
  { clusterName: cluster, region }: Pick<AwsSettings, 'clusterName' | 'region'>,
): Promise<RecordedArns> {
  const text = service.metadata.annotations[arnAnnotation] ?? '';
  const ids = [...new Set(text.split(/\s+/).filter((id) => id !== ''))];
  const ours: string[] = [];
  let moved = false;
  const refused: Reason[] = [];
  const mayHaveHad = (other = ''): boolean => other === serviceKey(service.metadata) || other.startsWith('shared:');
  const refuse = (id: string, why: string): void => void refused.push(reason('AwsKeptForeign', { id: id.slice(0, 200), why }));
  if (ids.length > limits.keptIds) refuse(`${ids.length} load balancers`, 'the annotation names too many');
  for (const id of ids.slice(0, limits.keptIds)) {
    const [, inRegion] = nlbArn.exec(id) ?? [];
    if (inRegion === undefined && !classicName.test(id)) refuse(id, 'that is neither the ARN of an NLB nor the name of a Classic ELB');
    else if (inRegion !== undefined && inRegion !== region) refuse(id, `that is in region ${inRegion}`);
    else {
      const tags = await tagsOf(cloud, id);
      if (tags === 'gone') continue;
      if (tags === 'refused') refuse(id, 'AWS does not allow Herald to read it');
      else if (isOurs(tags, cluster) && tags[tagKeys.stack] === stack) ours.push(id);
      else if (isOurs(tags, cluster) && mayHaveHad(tags[tagKeys.stack])) moved = true;
      else
        refuse(
          id,
          foreignOwner(tags, cluster) ?? (isOurs(tags, cluster) ? `it belongs to ${tags[tagKeys.stack]}` : 'it has no tag of ours'),
        );
    }
  }
  return { ours, moved, refused };
}

async function tagsOf(cloud: ReadOnlyCloud, id: string): Promise<Tags | 'gone' | 'refused'> {
  try {
    const [found] = id.startsWith('arn:')
      ? (await cloud.call('elbv2:DescribeTags', { ResourceArns: [id] })).TagDescriptions
      : (await cloud.call('elb:DescribeTags', { LoadBalancerNames: [id] })).TagDescriptions;
    return found === undefined ? 'gone' : tagMap(found.Tags);
  } catch (error) {
    if (!(error instanceof AwsError) || isTransient(error.code)) throw error;
    return error.code === 'notFound' ? 'gone' : 'refused';
  }
}
