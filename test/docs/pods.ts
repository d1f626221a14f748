import type { KubernetesCluster } from '../conformance/cluster.ts';

/** The part of a pod that a kubelet needs. */
export interface Pod {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly generateName?: string;
    readonly uid: string;
    readonly deletionTimestamp?: string;
  };
  readonly spec: {
    readonly nodeName?: string;
    readonly affinity?: object;
    readonly serviceAccountName?: string;
    readonly containers: readonly { readonly name: string; readonly args?: readonly string[]; readonly env?: readonly Variable[] }[];
  };
}

interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly fieldRef?: { readonly fieldPath: string } };
}

/** Returns the variables of the pod's first container on this node. Fields of the pod are known as far as our manifests use them. */
export function variablesOf({ metadata, spec }: Pod, nodeName: string): Readonly<Record<string, string>> {
  const fields: Readonly<Record<string, string>> = {
    'spec.nodeName': nodeName,
    'metadata.namespace': metadata.namespace,
    'metadata.name': metadata.name,
    'metadata.uid': metadata.uid,
  };
  const pairs = (spec.containers[0]?.env ?? []).map(({ name, value, valueFrom }) => {
    const known = value ?? fields[valueFrom?.fieldRef?.fieldPath ?? ''];
    if (known === undefined) throw new Error(`pod ${metadata.name}: the variable ${name} has a source that is not known here`);
    return [name, known] as const;
  });
  return Object.fromEntries(pairs);
}

/** Returns the arguments of the pod's first container, with its variables in place of $(NAME), as a kubelet does. "$$" is a dollar. */
export function argumentsOf({ spec }: Pod, variables: Readonly<Record<string, string>>): readonly string[] {
  const replaced = (text: string): string =>
    text.replaceAll(/\$\$|\$\((\w+)\)/g, (found, name?: string) => (name === undefined ? '$' : (variables[name] ?? found)));
  return (spec.containers[0]?.args ?? []).map(replaced);
}

/** Returns all pods, or none while the API server does not answer. */
export async function podsIn(cluster: KubernetesCluster): Promise<readonly Pod[]> {
  const answer = await cluster.attempt({ path: '/api/v1/pods' }).catch(() => undefined);
  return (answer?.body as { readonly items?: readonly Pod[] } | undefined)?.items ?? [];
}
