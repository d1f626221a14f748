/** A file system with Debian in it: this machine's, or a directory that scripts/setup-peers.sh made. */
export interface Root {
  /** Before every path; empty for this machine's own. */
  readonly path: string;
}

export const hostRoot: Root = { path: '' };
export const trixieRoot: Root = { path: '/var/cache/herald/trixie' };

/** The command line that runs `argv` with this root, as the same process. */
export function inRoot({ path }: Root, argv: readonly string[]): readonly string[] {
  return path === '' ? argv : ['chroot', path, ...argv];
}

/** The same inside a network namespace. The mount goes with the process: `ip netns exec` makes a mount namespace of its own. */
export function inNamespaceOf(root: Root, namespace: string, argv: readonly string[]): readonly string[] {
  const inside = ['ip', 'netns', 'exec', namespace];
  if (root.path === '') return [...inside, ...argv];
  return [...inside, 'sh', '-c', 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"', root.path, ...argv];
}

/** Where links and daemons have directories with the name of a link. */
export const directoriesOf = ({ path }: Root): readonly string[] => [`${path}/run`, `${path}/run/frr`, `${path}/etc/frr`];
