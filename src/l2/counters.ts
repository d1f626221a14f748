import type { FrameFault } from './wire/frame.ts';

/**
 * Why a received frame had no effect, beyond the reasons of the codec. `ownFrame`: its sender is an interface of this node. `destination`:
 * it was sent to another host. `macLimit`, `interfaceLimit`: too many answers a second.
 */
export type IgnoreReason = FrameFault | 'ownFrame' | 'destination' | 'macLimit' | 'interfaceLimit';

export class Counters {
  /** Requests and solicitations for addresses of the table, also of those that another node owns. */
  requests = 0;
  answers = 0;
  announcements = 0;
  probes = 0;
  /** Frames that the kernel did not send. */
  sendFailures = 0;
  /** Frames whose Ethernet source is not the sender of the ARP packet. VRRP routers send such requests, so they are answered. */
  otherEtherSource = 0;
  /** Claims of held addresses by foreign hosts, and by nodes of ours. */
  foreignConflicts = 0;
  nodeConflicts = 0;
  stalls = 0;
  ignored: Partial<Record<IgnoreReason, number>> = {};
}

export function countIgnored(counters: Counters, reason: IgnoreReason): void {
  counters.ignored[reason] = (counters.ignored[reason] ?? 0) + 1;
}
