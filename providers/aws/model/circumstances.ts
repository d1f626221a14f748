import type { Node } from '../../../src/model/objects/cluster.ts';
import type { EndpointSlice } from '../../../src/model/objects/endpoint-slice.ts';
import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Reason } from '../../../src/model/reasons.ts';
import type { AwsSettings } from './settings.ts';
import type { Service } from '../../../src/model/objects/service.ts';
import type { TargetRecord } from './targets/target-record.ts';
import type { ExistingStack, Facts } from './facts.ts';
import type { GatedPod, PodIdentity } from './pods.ts';

/** Everything besides the Services themselves that their load balancer depends on. */
export interface Circumstances extends CheckedTargets {
  readonly facts: Facts;
  readonly existing: ExistingStack;
  readonly settings: AwsSettings;
  readonly nodes: readonly Node[];
  /** The targets that Herald has registered in shared target groups. Absent: as the Service's annotation says. */
  readonly recordedTargets?: (service: Service) => TargetRecord;
  /** Returns a Service to which the listeners of another one send as well. Absent: there is none. */
  readonly backend?: (service: ServiceKey) => Service | undefined;
}

/** The endpoints that may be targets of type ip. */
export interface CheckedTargets {
  readonly slices: (service: ServiceKey) => readonly EndpointSlice[];
  /** The endpoints that are left out of `slices`, because they must not be targets. */
  readonly refusedTargets: (service: ServiceKey) => readonly Reason[];
  /** The Pods behind the Service, by address. Absent: they are not known. */
  readonly podIdentities?: (service: ServiceKey) => ReadonlyMap<string, PodIdentity>;
  /** Pods that wait for the load balancer of the Service. Absent: there are none. */
  readonly gatedPods?: (service: ServiceKey) => readonly GatedPod[];
}

/** The circumstances before the load balancer and the endpoints of a stack are read. */
export interface Surroundings extends Omit<Circumstances, 'existing' | keyof CheckedTargets> {
  /** Checks the endpoints of Services whose targets are pods. Rejects with AwsError when that is not possible now. */
  readonly checkTargets: (services: readonly ServiceKey[]) => Promise<CheckedTargets>;
  /**
   * Returns those of these targets that are still addresses of Pods of the namespace, as far as the Pods are known. Rejects with AwsError when
   * that is not possible now. Absent: all of them.
   */
  readonly remainingPods?: (namespace: string, addresses: readonly string[]) => Promise<ReadonlySet<string>>;
}

/** A stack: one load balancer with all that belongs to it, of one Service or of several that share it. */
export interface StackIdentity {
  /** "namespace/name", or "shared:namespace/name". Written in tags. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
}
