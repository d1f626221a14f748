import type { ConntrackConfig } from '../../model/kinds/types.ts';
import type { KernelSetting, ReadSetting } from './kernel-setting.ts';

/** Returns the connection tracking settings that kube-proxy would make. A 0 leaves a setting as the host has it. */
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
      'connections that ended without a word are kept for another time than HeraldConfig says',
    ),
    ...timeout(
      'nf_conntrack_tcp_timeout_close_wait',
      config.tcpCloseWaitSeconds,
      'connections that one side has closed are forgotten at another time than HeraldConfig says, and the other side can send no more',
    ),
    ...timeout('nf_conntrack_udp_timeout', config.udpSeconds, 'flows of UDP are forgotten at another time than HeraldConfig says'),
    ...timeout(
      'nf_conntrack_udp_timeout_stream',
      config.udpStreamSeconds,
      'flows of UDP in both directions are forgotten at another time than HeraldConfig says',
    ),
  ];
}

/**
 * Only raises the maximum, because another program may need more. The kernel has one value for all network namespaces, writable in the
 * first alone.
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
