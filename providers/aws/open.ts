import { defined } from '../../src/lang/defined.ts';
import type { ServiceMetadata } from './model/service-metadata.ts';
import { regionOfNodes, unknownLocation, vpcOfNodes } from './observe/cluster-location.ts';
import { AwsProvider } from './provider.ts';
import { defaultSettings, type AwsSettings } from './model/settings.ts';
import type { PacerComponents } from './sdk/pacer.ts';
import { SdkCloud } from './sdk/sdk-cloud.ts';

export interface OpenComponents extends PacerComponents {
  /** Absent: Services cannot be written to (standalone). */
  readonly metadata?: ServiceMetadata;
  /** Aborts when this controller leads no more: whoever waits for his turn then waits no longer. Absent: it is the only one. */
  readonly term?: AbortSignal;
}

export interface OpenOptions extends Omit<Partial<AwsSettings>, 'clusterName' | 'region' | 'vpcId'> {
  readonly clusterName: string;
  /** Absent: the region of the nodes. */
  readonly region?: string;
  /** Absent: the VPC of the nodes. */
  readonly vpcId?: string;
  /** Of Herald, for AWS' logs. */
  readonly version: string;
}

/**
 * The AWS provider with the real AWS behind it. Nothing is asked of AWS until there is a Service for it; where region and VPC are not
 * given they are those of the nodes, so that the metadata service of the instance (IMDS) is never needed.
 */
export function openAws({ metadata, term, ...components }: OpenComponents, { version, ...options }: OpenOptions): AwsProvider {
  const { clock, random, log } = components;
  const stopped = term === undefined ? components.stopped : AbortSignal.any([components.stopped, term]);
  return new AwsProvider({
    classless: options.classless ?? defaultSettings.classless,
    ...defined({ metadata }),
    clock,
    random,
    log,
    async connect(nodes) {
      const region = options.region ?? regionOfNodes(nodes);
      if (region === undefined) throw unknownLocation('which region? No Node tells');
      const cloud = new SdkCloud({ ...components, stopped }, { region, version });
      const vpcId = options.vpcId ?? (await vpcOfNodes(cloud, nodes));
      log.info({ region, vpcId, cluster: options.clusterName }, 'serving Services by load balancers of AWS');
      return { cloud, settings: { ...defaultSettings, ...options, region, vpcId } };
    },
  });
}
