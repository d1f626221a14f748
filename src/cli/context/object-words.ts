import { Option } from 'commander';
import { serviceKey, type ServiceKey } from '../../model/objects/metadata.ts';
import { UsageError } from './command-context.ts';
import { exitStatus } from './exit-status.ts';

/** Further words for the kinds of objects on a command line: plurals, and the names and short names that kubectl knows. */
export const kindWords = {
  service: ['svc', 'services'],
  pool: ['pools', 'ipaddresspool', 'ipaddresspools', 'ipaddresspools.herald.dev'],
  peer: ['peers', 'bgppeer', 'bgppeers', 'bgppeers.herald.dev'],
  node: ['no', 'nodes'],
} as const;

export interface NamespaceOption {
  readonly namespace?: string;
}

export const namespaceOption = (): Option =>
  new Option(
    '-n, --namespace <name>',
    "namespace of the Service, when its name has none (default: that of the kubeconfig's context, else default)",
  );

/** Returns the Service that a word and --namespace name. Throws UsageError when they name two namespaces. */
export function namedService(word: string, { namespace }: NamespaceOption): ServiceKey {
  const slash = word.indexOf('/');
  if (slash === -1) return serviceKey({ namespace: namespace ?? 'default', name: word });
  if (namespace !== undefined && word.slice(0, slash) !== namespace)
    throw new UsageError(
      `${word} is not in the namespace ${namespace}: leave out --namespace, or write ${word.slice(slash + 1)}`,
      exitStatus.usage,
    );
  return word as ServiceKey;
}
