import { createHash } from 'node:crypto';

/** AWS' bound on names of load balancers and target groups. */
const longest = 32;
const hashLength = 10;

/**
 * "k8s-NAMESPACE-NAME-HASH": the first letters for people, the hash for uniqueness. The same inputs give the same name, so that making
 * something whose answer was lost finds it again.
 */
export function resourceName(namespace: string, name: string, ...distinguishing: readonly string[]): string {
  const hash = createHash('sha256').update(distinguishing.join('\0')).digest('hex').slice(0, hashLength);
  const part = (text: string): string => text.replaceAll(/[^a-zA-Z0-9]/g, '').slice(0, (longest - 'k8s---'.length - hashLength) / 2);
  return `k8s-${part(namespace)}-${part(name)}-${hash}`;
}

/** Name of the security group by which nodes recognise the load balancers of a cluster. */
export function backendGroupName(cluster: string): string {
  return `herald-backend-${cluster.replaceAll(/[^a-zA-Z0-9-]/g, '').slice(0, 200)}-${createHash('sha256').update(cluster).digest('hex').slice(0, hashLength)}`;
}
