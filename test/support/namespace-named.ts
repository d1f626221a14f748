import type { Namespace } from '../../src/dataplane/nftables/ports.ts';

/** Returns a namespace that `ip netns add` created. */
export function namespaceNamed(name: string): Namespace {
  return { file: `/run/netns/${name}`, commandPrefix: ['ip', 'netns', 'exec', name] };
}
