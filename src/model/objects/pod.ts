import type { Labels } from './metadata.ts';

/** core/v1 Pod: what tells why a Service has it as an endpoint or not. No decision reads Pods: EndpointSlices are what counts. */
export interface Pod {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Labels;
  /** "" before it has a place. */
  readonly node: string;
  readonly addresses: readonly string[];
  readonly phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';
  readonly terminating: boolean;
  readonly ready: boolean;
  /** Readiness gates whose condition is not True. */
  readonly unmetGates: readonly string[];
  /** Why it has no place, in the scheduler's words; "" where it has one. */
  readonly unscheduled: string;
  readonly containers: readonly PodContainer[];
}

export interface PodContainer {
  readonly name: string;
  readonly ready: boolean;
  /** Why it waits or has ended: "CrashLoopBackOff", "ImagePullBackOff"; "" while it runs. */
  readonly state: string;
  readonly restarts: number;
  /** Its ports that have a name, as Services refer to them. */
  readonly portNames: readonly string[];
}
