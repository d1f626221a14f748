import type { LabProcess } from '../../../../test/lab/lab-process.ts';

/** Where a controller finds its cluster and its account. */
export interface Surroundings {
  /** For files of the controller. It is deleted after the benchmark. */
  readonly directory: string;
  /** A file with the rights of cluster-admin, and the same as the kubelet gives them to a pod: ca.crt, namespace and token in a directory. */
  readonly kubeconfig: string;
  readonly serviceAccount: string;
  readonly apiServer: URL;
  /** Where requests to AWS go: the proxy in front of moto. */
  readonly endpoint: string;
  readonly vpcId: string;
  /** A certificate and its key for servers on loopback, both PEM files in this directory: apiserver.crt and apiserver.key. */
  readonly certificates: string;
}

/** A controller that the benchmark can run. */
export interface Contender {
  readonly name: string;
  /** Objects that the controller needs in the cluster before it starts. */
  readonly objects: readonly object[];
  /** Starts the controller. Resolves when it works. */
  start(surroundings: Surroundings): Promise<LabProcess>;
  /** The tag with the namespace and the name of the Service: "default/web". */
  readonly serviceTag: string;
}
