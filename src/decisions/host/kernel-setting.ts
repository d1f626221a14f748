/** A setting of the kernel that correct forwarding needs. */
export interface KernelSetting {
  /** Below /proc/sys. */
  readonly path: string;
  readonly wanted: string;
  /** What `holds` looks at. */
  readonly reads: readonly string[];
  /** Whether what is there will do; `read` gives undefined where the kernel has no such setting. */
  readonly holds: (read: ReadSetting) => boolean;
  /** In words, for a person: what happens otherwise. */
  readonly why: string;
  /** false: others may need it as it is; it is only told. */
  readonly mayBeSet: boolean;
  /** Paths of settings that must hold before this one may be set. */
  readonly after: readonly string[];
}

export type ReadSetting = (path: string) => string | undefined;

/** As sysctl(8) writes it, where dots in a name of an interface become slashes. */
export function sysctlName({ path }: Pick<KernelSetting, 'path'>): string {
  return path.replaceAll(/[./]/g, (separator) => (separator === '/' ? '.' : '/'));
}
