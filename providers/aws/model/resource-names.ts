import { hash } from 'node:crypto';

/** AWS' limit for names of load balancers and target groups. */
const longest = 32;
const hashLength = 10;

/**
 * Returns "k8s-NAMESPACE-NAME-HASH": readable parts, and a hash that makes the name unique. The same inputs give the same name, so a retry
 * finds the resource of a creation whose answer was lost.
 */
export function resourceName(namespace: string, name: string, ...distinguishing: readonly string[]): string {
  const part = (text: string): string => text.replaceAll(/[^a-zA-Z0-9]/g, '').slice(0, (longest - 'k8s---'.length - hashLength) / 2);
  return `k8s-${part(namespace)}-${part(name)}-${shortHash(distinguishing.join('\0'))}`;
}

/**
 * Returns the name of the security group that all load balancers of the cluster share. Rules of the nodes admit traffic from this group.
 */
export function backendGroupName(cluster: string): string {
  return `herald-backend-${cluster.replaceAll(/[^a-zA-Z0-9-]/g, '').slice(0, 200)}-${shortHash(cluster)}`;
}

function shortHash(text: string): string {
  return hash('sha256', text).slice(0, hashLength);
}
