import type { HostPath, HostTarget } from '../net/host-path.ts';
import type { Host } from '../system/host.ts';

/** How the host sends packets to these addresses, in their order. Undefined: by no interface. Rejects if the kernel does not answer. */
export type FindHostPaths = (targets: readonly HostTarget[]) => Promise<readonly (HostPath | undefined)[]>;

/** Reads kernel settings. Those that the kernel lacks are left out. */
export async function readSettings(host: Pick<Host, 'readSetting'>, paths: Iterable<string>): Promise<Map<string, string>> {
  const values = new Map<string, string>();
  for (const path of paths) {
    const value = await host.readSetting(path);
    if (value !== undefined) values.set(path, value);
  }
  return values;
}
