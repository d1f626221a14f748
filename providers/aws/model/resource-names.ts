import { createHash } from 'node:crypto';

/** AWS' limit for names of load balancers and target groups. */
const longest = 32;
const hashLength = 10;

/**
 * Returns "k8s-NAMESPACE-NAME-HASH": a readable start, and a hash that makes it unique. The same inputs give the same name, so a creation
 * whose answer was lost finds the resource again.
 */
export function resourceName(namespace: string, name: string, ...distinguishing: readonly string[]): string {
  const hash = createHash('sha256').update(distinguishing.join('\0')).digest('hex').slice(0, hashLength);
  const part = (text: string): string => text.replaceAll(/[^a-zA-Z0-9]/g, '').slice(0, (longest - 'k8s---'.length - hashLength) / 2);
  return `k8s-${part(namespace)}-${part(name)}-${hash}`;
}

/** Returns the name of the cluster's shared security group, by which nodes admit load balancers. */
export function backendGroupName(cluster: string): string {
  return `herald-backend-${cluster.replaceAll(/[^a-zA-Z0-9-]/g, '').slice(0, 200)}-${createHash('sha256').update(cluster).digest('hex').slice(0, hashLength)}`;
}
