import type { Labels } from './metadata.ts';

/**
 * core/v1 Pod: the fields that explain why it is or is not an endpoint of a Service. Decisions read EndpointSlices, and Pods only to check
 * targets of a provider.
 */
export interface Pod {
  readonly namespace: string;
  readonly name: string;
  /** Absent in a manifest. */
  readonly uid?: string;
  /** metadata.creationTimestamp. Absent in a manifest. */
  readonly created?: string;
  readonly labels: Labels;
  /** Absent: none. */
  readonly annotations?: Labels;
  /** The variables of its containers and init containers that are written as values; of several with one name the first. Absent: none. */
  readonly variables?: Readonly<Record<string, string>>;
  /** "" before the Pod is scheduled. */
  readonly node: string;
  readonly addresses: readonly string[];
  readonly phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';
  readonly terminating: boolean;
  readonly ready: boolean;
  /** All readiness gates. Absent: none. */
  readonly gates?: readonly string[];
  /** Readiness gates whose condition is not True. */
  readonly unmetGates: readonly string[];
  /** Why the Pod is not scheduled, in the scheduler's words. "" when it is. */
  readonly unscheduled: string;
  readonly containers: readonly PodContainer[];
}

export interface PodContainer {
  readonly name: string;
  readonly ready: boolean;
  /** Why the container waits or has ended, such as "CrashLoopBackOff" or "ImagePullBackOff". "" while it runs. */
  readonly state: string;
  readonly restarts: number;
  /** Names of its named ports, which a Service's targetPort can refer to. */
  readonly portNames: readonly string[];
  /** The numbers of the TCP ports that it declares (containerPort). A program may listen at others as well. Absent: none. */
  readonly ports?: readonly number[];
}
