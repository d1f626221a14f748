import { frontendKey } from '../../net/frontend.ts';
import type { Clock } from '../../system/clock.ts';
import { NetlinkConnection } from '../../system/netlink/connection.ts';
import { MalformedNetlink, NetlinkError } from '../../system/netlink/error.ts';
import { netfilterProtocol, openNetlink, type NetlinkSocket } from '../../system/netlink/socket.ts';
import { maximumQuietSeconds } from '../limits.ts';
import { listRequest, readFlow, type TrackedFlow } from './flow-messages.ts';

/** Counts the active connections to these frontends (by frontendKey) through this machine. Undefined: they cannot be counted here. */
export type CountConnections = (frontends: ReadonlySet<string>) => Promise<number | undefined>;

/**
 * Settings for how long the kernel remembers an idle established TCP connection: normally; while data is not acknowledged; while the
 * receiver accepts none, or after many retransmissions (nf_conntrack_proto_tcp.c). A running transfer nearly always has unacknowledged
 * data.
 */
const rememberedSettings = ['established', 'unacknowledged', 'max_retrans'].map((name) => `net/netfilter/nf_conntrack_tcp_timeout_${name}`);

/**
 * Counts in the kernel's connection tracking by netlink. A TCP connection counts while it is established and a packet of it may have been
 * seen within `maximumQuietSeconds`: the kernel remembers a connection that continued through another node for a day. A UDP or SCTP flow
 * counts if it was answered, for as long as the kernel remembers it. `open` defaults to the network namespace of this process.
 */
export function connectionCounter(
  clock: Clock,
  readSetting: (path: string) => Promise<string | undefined>,
  open: () => NetlinkSocket | undefined = () => openNetlink({ protocol: netfilterProtocol }),
): CountConnections {
  return async (frontends) => {
    if (frontends.size === 0) return 0;
    const settings = await Promise.all(rememberedSettings.map(readSetting));
    const remembered = settings.map((text) => Number(text ?? Number.NaN));
    try {
      const socket = open();
      if (socket === undefined) return undefined;
      try {
        return await count(new NetlinkConnection(socket, clock), frontends, remembered);
      } finally {
        socket.close();
      }
    } catch (error) {
      if (error instanceof NetlinkError || error instanceof MalformedNetlink) return undefined;
      throw error;
    }
  };
}

async function count(connection: NetlinkConnection, frontends: ReadonlySet<string>, remembered: readonly number[]): Promise<number> {
  let connections = 0;
  for (const family of [4, 6] as const) {
    for (const protocol of ['TCP', 'UDP', 'SCTP'] as const) {
      // The table may have a million entries, so only counted flows are kept. If the list is interrupted and read again, the count starts
      // at zero.
      const counted = await connection.list(listRequest({ family, protocol }), (payload) => {
        const flow = readFlow(payload);
        return flow?.protocol === protocol && isActive(flow, remembered) && frontends.has(keyOf(flow)) ? true : undefined;
      });
      connections += counted.length;
    }
  }
  return connections;
}

const keyOf = ({ destination, protocol, port }: TrackedFlow): string =>
  frontendKey({ kind: 'address', address: destination, protocol, port });

/** `remembered`: seconds, NaN where a setting cannot be read. */
function isActive({ protocol, replied, established, secondsLeft }: TrackedFlow, remembered: readonly number[]): boolean {
  if (protocol !== 'TCP') return replied;
  if (!established || secondsLeft === undefined) return established;
  // The kernel does not report which setting applies to a connection. If none is possible, because a setting was lowered since, the idle
  // time is unknown.
  const possible = remembered.filter((seconds) => !(seconds < secondsLeft));
  return possible.length === 0 || !possible.every((seconds) => seconds - secondsLeft > maximumQuietSeconds);
}
