import type { ConntrackConfig } from '../../model/kinds/types.ts';
import type { KernelSetting, ReadSetting } from './kernel-setting.ts';

/** Returns the connection tracking settings that kube-proxy makes. A value of 0 leaves the setting unchanged. */
export function conntrackSettings(config: ConntrackConfig, cores: number): KernelSetting[] {
  const timeout = (path: string, seconds: number, why: string): KernelSetting[] => {
    const full = `net/netfilter/${path}`;
    return seconds === 0 ? [] : [setting(full, seconds, (read) => read(full) === String(seconds), why)];
  };
  return [
    ...maximum(config, cores),
    ...timeout(
      'nf_conntrack_tcp_timeout_established',
      config.tcpEstablishedSeconds,
      'connections that are silent are kept for a different time than HeraldConfig says',
    ),
    ...timeout(
      'nf_conntrack_tcp_timeout_close_wait',
      config.tcpCloseWaitSeconds,
      'connections that one side has closed are kept for a different time than HeraldConfig says, and after it the other side cannot send',
    ),
    ...timeout('nf_conntrack_udp_timeout', config.udpSeconds, 'UDP flows are kept for a different time than HeraldConfig says'),
    ...timeout(
      'nf_conntrack_udp_timeout_stream',
      config.udpStreamSeconds,
      'UDP flows in both directions are kept for a different time than HeraldConfig says',
    ),
  ];
}

/**
 * Requires at least this maximum and never lowers it, because another program may need more. The kernel has one value for all network
 * namespaces, and only the initial one can write it.
 */
function maximum({ maxPerCore, min }: ConntrackConfig, cores: number): KernelSetting[] {
  if (maxPerCore === 0) return [];
  const path = 'net/netfilter/nf_conntrack_max';
  const wanted = Math.max(maxPerCore * cores, min);
  return [setting(path, wanted, (read) => Number(read(path)) >= wanted, 'a busy node drops new connections when the table is full')];
}

function setting(path: string, wanted: number, holds: (read: ReadSetting) => boolean, why: string): KernelSetting {
  return { path, wanted: String(wanted), reads: [path], holds, why, mayBeSet: true, after: [] };
}
