import type { Node } from '../../../src/model/objects/cluster.ts';
import type { EndpointSlice } from '../../../src/model/objects/endpoint-slice.ts';
import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { AwsSettings } from './settings.ts';
import type { ExistingStack, Facts } from './facts.ts';

/** Everything besides the Services themselves that their load balancer depends on. */
export interface Circumstances {
  readonly facts: Facts;
  readonly existing: ExistingStack;
  readonly settings: AwsSettings;
  readonly nodes: readonly Node[];
  readonly slices: (service: ServiceKey) => readonly EndpointSlice[];
}

/** A stack: one load balancer with all that belongs to it, of one Service or of several that share it. */
export interface StackIdentity {
  /** "namespace/name", or "shared:namespace/name". Written in tags. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
}
