/** A file system with Debian: that of this machine, or a directory made by scripts/setup-peers.sh. */
export interface Root {
  /** The prefix of every path; empty for this machine. */
  readonly path: string;
}

export const hostRoot: Root = { path: '' };
export const trixieRoot: Root = { path: '/var/cache/herald/trixie' };

/** Returns the command line that runs `argv` in this root, in the same process. */
export function inRoot({ path }: Root, argv: readonly string[]): readonly string[] {
  return path === '' ? argv : ['chroot', path, ...argv];
}

/**
 * Returns the command line that runs `argv` in this root and in a network namespace. Its mount of /proc ends with the process, because `ip
 * netns exec` makes a mount namespace.
 */
export function inNamespaceOf(root: Root, namespace: string, argv: readonly string[]): readonly string[] {
  const inside = ['ip', 'netns', 'exec', namespace];
  if (root.path === '') return [...inside, ...argv];
  return [...inside, 'sh', '-c', 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"', root.path, ...argv];
}

/** Returns the directories in which links and daemons make subdirectories named after the link. */
export const directoriesOf = ({ path }: Root): readonly string[] => [`${path}/run`, `${path}/run/frr`, `${path}/etc/frr`];
