import { reason, type Reason } from '../../model/reasons.ts';
import type { ReadSetting } from './kernel-setting.ts';

const countPath = 'net/netfilter/nf_conntrack_count';
const maximumPath = 'net/netfilter/nf_conntrack_max';

/** The settings from which `judgeConnectionTable` decides. The kernel counts each network namespace by itself. */
export const connectionTablePaths: readonly string[] = [countPath, maximumPath];

/** The table is reported from the first share of its maximum on, until it is below the second. */
const reportedPercent = 90;
const clearedPercent = 80;

/** Decides whether the table of connections is nearly full. `isReported`: it was before. The reason has no changing count. */
export function judgeConnectionTable(read: ReadSetting, isReported: boolean): Reason | undefined {
  const count = Number(read(countPath));
  const maximum = Number(read(maximumPath));
  // A maximum of 0 stands for none. A kernel without connection tracking has neither setting.
  if (!(maximum > 0) || !(count >= (maximum * (isReported ? clearedPercent : reportedPercent)) / 100)) return undefined;
  return reason('ConntrackNearlyFull', { reached: reportedPercent, cleared: clearedPercent, maximum, wanted: 2 * maximum });
}
