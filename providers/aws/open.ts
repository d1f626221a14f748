import { defined } from '../../src/lang/defined.ts';
import type { PodReader } from './model/pods.ts';
import type { ServiceMetadata } from './model/service-metadata.ts';
import { regionOfNodes, unknownLocation, vpcOfNodes } from './observe/account/cluster-location.ts';
import { AwsProvider } from './provider.ts';
import { defaultSettings, type AwsSettings } from './model/settings.ts';
import type { PacerComponents } from './sdk/pacer.ts';
import { SdkCloud } from './sdk/sdk-cloud.ts';
import type { OwnerObserver } from './stacks/single-owner.ts';

export interface OpenComponents extends PacerComponents {
  /** Absent: nothing is counted. */
  readonly observer?: OwnerObserver & NonNullable<PacerComponents['observer']>;
  /** Absent without write access to Services (standalone). */
  readonly metadata?: ServiceMetadata;
  /** Absent where there are no Pods (standalone). */
  readonly pods?: PodReader;
  /**
   * Aborts when this controller loses leadership: requests that wait for the rate limit then end. Absent when there is only one controller.
   */
  readonly term?: AbortSignal;
}

export interface OpenOptions extends Omit<Partial<AwsSettings>, 'clusterName' | 'clusterUid' | 'region' | 'vpcId'> {
  readonly clusterName: string;
  /** Absent: the region of the nodes. */
  readonly region?: string;
  /** Absent: the VPC of the nodes. */
  readonly vpcId?: string;
  /** Herald's version, for AWS' logs. */
  readonly version: string;
}

/**
 * Returns the AWS provider, connected to the real AWS. It calls AWS only when a Service needs it. Missing region and VPC are those of the
 * nodes, so the metadata service of the instance (IMDS) is never needed.
 */
export function openAws({ metadata, pods, term, ...components }: OpenComponents, { version, ...options }: OpenOptions): AwsProvider {
  const { clock, random, log } = components;
  const stopped = term === undefined ? components.stopped : AbortSignal.any([components.stopped, term]);
  return new AwsProvider({
    classless: options.classless ?? defaultSettings.classless,
    ...defined({ metadata, pods, observer: components.observer }),
    clock,
    random,
    log,
    async connect(nodes) {
      const region = options.region ?? regionOfNodes(nodes);
      if (region === undefined) throw unknownLocation('which region? No Node has a spec.providerID of AWS');
      const cloud = new SdkCloud({ ...components, stopped }, { region, version });
      const vpcId = options.vpcId ?? (await vpcOfNodes(cloud, nodes));
      log.info({ region, vpcId, cluster: options.clusterName }, 'serving Services with AWS load balancers');
      return { cloud, settings: { ...defaultSettings, ...options, region, vpcId } };
    },
  });
}
