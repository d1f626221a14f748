/** A Debian file system that holds the programs of peers: the one of this machine, or a directory made by scripts/setup-peers.sh. */
export interface Root {
  /** Directory that is prefixed to every path. Empty for this machine. */
  readonly path: string;
}

export const hostRoot: Root = { path: '' };
export const trixieRoot: Root = { path: '/var/cache/herald/trixie' };

/** Returns the command line that runs `argv` in this root. It starts no child process: `chroot` becomes the program. */
export function inRoot({ path }: Root, argv: readonly string[]): readonly string[] {
  return path === '' ? argv : ['chroot', path, ...argv];
}

/**
 * Returns the command line that runs `argv` in this root and in a network namespace. `ip netns exec` makes a mount namespace, so the mount
 * of /proc disappears when the process ends.
 */
export function inNamespaceOf(root: Root, namespace: string, argv: readonly string[]): readonly string[] {
  const inside = ['ip', 'netns', 'exec', namespace];
  if (root.path === '') return [...inside, ...argv];
  return [...inside, 'sh', '-c', 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"', root.path, ...argv];
}

/** Returns the directories that can hold files of a link and its daemons. Their names begin with the name of the link. */
export const directoriesOf = ({ path }: Root): readonly string[] => [`${path}/run`, `${path}/run/frr`, `${path}/etc/frr`];
