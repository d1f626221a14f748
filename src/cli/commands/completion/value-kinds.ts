import type { Position } from './position.ts';
import { nameOf } from './position.ts';

/** The objects that a cluster or a directory has by name. */
export type ObjectKind = 'service' | 'pool' | 'peer' | 'node' | 'namespace';

/** A value that a shell can complete. `free`: only the user knows it. */
export type ValueKind = ObjectKind | 'file' | 'directory' | 'free';

/** By the long name of an option. Options with choices need no entry. */
export const optionValues: Readonly<Record<string, ValueKind>> = {
  source: 'directory',
  file: 'file',
  kubeconfig: 'file',
  pcap: 'file',
  provider: 'file',
  socket: 'file',
  'proc-sys': 'directory',
  node: 'node',
  peer: 'peer',
  pool: 'pool',
  service: 'service',
  namespace: 'namespace',
  'herald-namespace': 'namespace',
  'leader-elect-namespace': 'namespace',
};

/** By the path of a command: the kinds of its arguments, in order. */
export const argumentValues: Readonly<Record<string, readonly ValueKind[]>> = {
  run: ['directory'],
  drain: ['node'],
  import: ['file'],
  'import kube-proxy': ['file'],
  endpoints: ['service'],
  'explain service': ['service'],
  'explain pool': ['pool'],
  'explain peer': ['peer'],
  'explain node': ['node'],
  'check service': ['service'],
  'history service': ['service'],
  'history peer': ['peer'],
  'history node': ['node'],
};

/** Returns the kind of value at a position. Undefined: the position takes no value. */
export function valueKindAt({ place, path, command }: Position): ValueKind | undefined {
  // The only option -o without choices writes a file.
  if (place.type === 'value' && nameOf(place.option) === 'output') return 'file';
  if (place.type === 'value') return optionValues[nameOf(place.option)] ?? 'free';
  if (place.type !== 'argument' || place.index >= command.registeredArguments.length) return undefined;
  return argumentValues[path]?.[place.index] ?? 'free';
}
