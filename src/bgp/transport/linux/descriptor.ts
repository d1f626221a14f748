import type { Socket } from 'node:net';

/**
 * Returns the descriptor of a socket of Node. Node documents no way to get it, or to set the options that BGP needs. If a version of Node
 * lacks this property, every incoming connection fails with an explanation instead of running without its options.
 */
export function descriptorOf(socket: Socket): number {
  const { _handle: handle } = socket as unknown as { readonly _handle?: { readonly fd?: unknown } | null };
  const fd = handle?.fd;
  if (typeof fd !== 'number' || fd < 0) throw new Error('this version of Node does not provide the descriptor of an accepted connection');
  return fd;
}
