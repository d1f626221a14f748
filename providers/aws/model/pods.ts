import type { Pod } from '../../../src/model/objects/pod.ts';

/** Reads Pods one by one. A watch would cost memory and traffic for all Pods of the cluster, of which few are targets. */
export interface PodReader {
  /** Resolves to undefined when there is no such Pod. Rejects with an error that has a `code` when Pods cannot be read now. */
  read(namespace: string, name: string): Promise<TargetPod | undefined>;
  /**
   * Sets the condition of a readiness gate to True. Does nothing for a Pod that is gone. Rejects with an error that has a `code` when the
   * condition cannot be written. Absent: nothing may be written.
   */
  openGate?(pod: GatedPod, because: { readonly reason: string; readonly message: string }): Promise<void>;
}

/** The fields of a Pod that show whether an address is its own, and whether it waits for a load balancer. */
export interface TargetPod {
  readonly addresses: readonly string[];
  /** "" before the Pod is scheduled. */
  readonly node: string;
  /** A Pod that has Succeeded or Failed keeps its addresses in its status, but another Pod may have them already. */
  readonly phase: string;
  readonly uid?: string;
  /** RFC 3339. */
  readonly created?: string;
  /** The server id for QUIC that is written on the Pod, not checked. */
  readonly quicServerId?: string;
  /** All readiness gates. */
  readonly gates?: readonly string[];
  /** Readiness gates whose condition is not True. */
  readonly unmetGates?: readonly string[];
  readonly containers?: readonly { readonly ready: boolean }[];
}

/** Annotation of a Pod: its server id for QUIC, instead of the one that its UID gives. */
export const quicServerIdAnnotation = 'herald.dev/aws-quic-server-id';

/** Returns the fields of a Pod that its reader has found. */
export function targetPodOf(pod: Pod): TargetPod {
  const quicServerId = writtenServerId(pod);
  return { ...pod, ...(quicServerId === '' ? {} : { quicServerId }) };
}

/** Returns the server id for QUIC in the form of AWS. A webhook of the AWS Load Balancer Controller writes it to a container, in base64. */
function writtenServerId({ annotations = {}, variables = {} }: Pod): string {
  const written = annotations[quicServerIdAnnotation];
  if (written !== undefined) return written.trim();
  if (annotations['service.beta.kubernetes.io/aws-load-balancer-quic-enabled-containers'] === undefined) return '';
  const injected = variables['AWS_LBC_QUIC_SERVER_ID'] ?? '';
  return injected === '' ? '' : `0x${Buffer.from(injected, 'base64').toString('hex')}`;
}

/** The fields of a Pod from which its server id for QUIC comes. */
export type PodIdentity = Pick<TargetPod, 'uid' | 'created' | 'quicServerId'> & { readonly name: string };

/** A Pod that waits until the load balancer of a Service sends to it. */
export interface GatedPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** The type of the condition. */
  readonly gate: string;
  readonly address: string;
  /** Only then is it a target. */
  readonly areContainersReady: boolean;
}

/**
 * Returns the readiness gate by which a Pod waits for the load balancer of a Service of its namespace. The AWS Load Balancer Controller uses
 * the same prefix.
 */
export function gateOf(service: string): string {
  return `target-health.elbv2.k8s.aws/${service}`;
}
