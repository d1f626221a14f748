import type { Image } from './image.ts';

/** The part of a container's securityContext in our manifests that `confined` implements. */
export interface SecurityContext {
  readonly runAsUser: number;
  readonly runAsGroup: number;
  readonly allowPrivilegeEscalation: boolean;
  readonly readOnlyRootFilesystem: boolean;
  readonly capabilities: { readonly drop: readonly string[]; readonly add?: readonly string[] };
}

export interface Mount {
  readonly from: string;
  readonly to: string;
}

/**
 * Returns a command line that runs the image's program as a container runtime would: root and /proc/sys are read-only, and the process has
 * only the given capabilities and cannot get others. Run it in a network namespace.
 */
export function confined(image: Image, context: SecurityContext, mounts: readonly Mount[], args: readonly string[]): readonly string[] {
  const { runAsUser, runAsGroup, capabilities } = context;
  if (context.allowPrivilegeEscalation || !capabilities.drop.includes('ALL'))
    throw new Error('our manifest gives a container too many rights');
  const kept = (capabilities.add ?? []).map((name) => `+${name.toLowerCase()}`);
  const user = ['--reuid', String(runAsUser), '--regid', String(runAsGroup), '--clear-groups'];
  const limits = ['--no-new-privs', '--inh-caps=-all', `--bounding-set=${['-all', ...kept].join(',')}`];
  const script = [
    'mount --bind "$0" "$0"',
    'mount -t proc proc "$0/proc"',
    'mount --bind "$0/proc/sys" "$0/proc/sys"',
    'mount -o remount,bind,ro "$0/proc/sys"',
    ...mounts.flatMap(({ from, to }) => [`mkdir -p "$0${to}"`, `mount --bind ${from} "$0${to}"`]),
    ...(context.readOnlyRootFilesystem ? ['mount -o remount,bind,ro "$0"'] : []),
    'exec chroot "$0" "$@"',
  ].join(' && ');
  return ['unshare', '--mount', 'sh', '-c', script, image.root, 'setpriv', ...user, ...limits, ...image.entrypoint, ...args];
}
