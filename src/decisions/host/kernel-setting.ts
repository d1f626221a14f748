import type { Reason } from '../../model/reasons.ts';

/** A kernel setting that correct forwarding needs. */
export interface KernelSetting {
  /** Path below /proc/sys. */
  readonly path: string;
  readonly wanted: string;
  /** Paths that `holds` reads. */
  readonly reads: readonly string[];
  /** True when the present value is good enough. `read` returns undefined for a setting that the kernel lacks. */
  readonly holds: (read: ReadSetting) => boolean;
  /** The consequence of a wrong value, in words. */
  readonly why: string;
  /** False when other programs may need the present value: Herald then only reports it. */
  readonly mayBeSet: boolean;
  /** True: forwarding does not need it. A value that cannot be set is no problem. */
  readonly isOptional?: true;
  /** Paths of settings that must hold before this one may be set. */
  readonly after: readonly string[];
  /** Replaces KernelSettingWrong where another program needs the present value. */
  readonly judgedAs?: Reason;
}

export type ReadSetting = (path: string) => string | undefined;

/** Returns the name as sysctl(8) writes it: dots in an interface name become slashes. */
export function sysctlName({ path }: Pick<KernelSetting, 'path'>): string {
  return path.replaceAll(/[./]/g, (separator) => (separator === '/' ? '.' : '/'));
}
