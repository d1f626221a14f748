import type { Image } from './image.ts';

/** What a container runtime makes of the securityContext of a container in our manifests. */
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
 * The command line that runs the image's program as a container runtime would: its root and /proc/sys read-only, no other capability than
 * those, and none to be had. To be run in a network namespace.
 */
export function confined(image: Image, context: SecurityContext, mounts: readonly Mount[], args: readonly string[]): readonly string[] {
  const { runAsUser, runAsGroup, capabilities } = context;
  if (context.allowPrivilegeEscalation || !capabilities.drop.includes('ALL')) throw new Error('a container of ours has more than it may');
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
