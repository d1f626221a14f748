import { defined } from '../../lang/defined.ts';
import type { ConnectionOutcome, ObservedConnection } from '../../net/observed-connection.ts';
import { sctpEstablished, statusBits, tcpStates, type FlowCounters, type FlowReader } from './flow-reader.ts';

/** How long the kernel keeps an entry after its last packet, in seconds. NaN: the setting cannot be read. */
export interface Timeouts {
  /** By number of the state (enum tcp_conntrack). */
  readonly tcp: readonly number[];
  /** An established connection whose data is not acknowledged, or whose receiver takes none. */
  readonly unacknowledged: number;
  /** The shortest of these two times. */
  readonly unacknowledgedLeast: number;
  readonly udp: number;
  /** A UDP flow with packets in both directions. */
  readonly udpStream: number;
}

/** In the order of enum tcp_conntrack, from SYN_SENT on. */
const tcpSettings = ['syn_sent', 'syn_recv', 'established', 'fin_wait', 'close_wait', 'last_ack', 'time_wait', 'close'] as const;
/** Seconds after which a client has sent its first packet again, or has given up. */
const silentSeconds = 2;
/** Seconds after which a client has acknowledged data that it got: many round trips, and a retransmission or more. */
const unacknowledgedSeconds = 3;
/** Seconds for which a program may go on working after its client has sent all. */
const endedSeconds = 5;
/** Seconds for which a client may wait for an answer: longer than most programs hold a request until there is news. */
const waitingSeconds = 60;
/** The longest TCP header of a SYN, and of other packets without data on a connection without losses. */
const synHeader = 40;
const acknowledgementHeader = 32;
/** Octets after which an endpoint has certainly sent large packets, and octets of such a packet on average. */
const largeData = 4096;
const largePacket = 1000;
/** More octets than an endpoint sends before the first acknowledgement, with those that it sends again. */
const firstWindow = 64 * 1024;

export async function readTimeouts(readSetting: (path: string) => Promise<string | undefined>): Promise<Timeouts> {
  const read = async (name: string): Promise<number> => Number((await readSetting(`net/netfilter/nf_conntrack_${name}`)) ?? Number.NaN);
  const tcp = [Number.NaN, ...(await Promise.all(tcpSettings.map((state) => read(`tcp_timeout_${state}`))))];
  const waits = await Promise.all([read('tcp_timeout_unacknowledged'), read('tcp_timeout_max_retrans')]);
  return {
    tcp,
    unacknowledged: Math.max(...waits),
    unacknowledgedLeast: Math.min(...waits),
    udp: await read('udp_timeout'),
    udpStream: await read('udp_timeout_stream'),
  };
}

/** The outcome of a connection, and the seconds since its last packet. */
export interface FlowOutcome extends Pick<ObservedConnection, 'data' | 'isEnded'> {
  readonly outcome: ConnectionOutcome;
  readonly quietSeconds: number;
}

/**
 * Judges an entry of a list. `isNew`: the entry had no reply at an earlier look. Undefined: nothing can be said of it. The kernel begins an entry
 * also in the middle of a connection that came from another node; only one in SYN_SENT certainly waits for its first answer.
 */
export function outcomeOf(flow: FlowReader, isNew: boolean, timeouts: Timeouts): FlowOutcome | undefined {
  const { protocol, status, state, secondsLeft } = flow;
  const quietSeconds = quietOf(flow, timeouts);
  if ((status & statusBits.replied) === 0) {
    const isSilent = protocol === 'TCP' && state === tcpStates.synSent && quietSeconds >= silentSeconds;
    return isSilent ? { outcome: 'silent', quietSeconds } : undefined;
  }
  if (protocol === 'SCTP' && state !== sctpEstablished) return undefined;
  if (protocol === 'TCP' && state === tcpStates.synReceived)
    return quietSeconds >= silentSeconds ? { outcome: 'unfinished', quietSeconds } : undefined;
  // The client has completed the connection only when it has acknowledged the answer.
  if (protocol === 'TCP' && (status & statusBits.assured) === 0) return undefined;
  if (protocol === 'TCP' && flow.isReplyUnacknowledged && mayCarryData.has(state)) return unacknowledgedOf(flow, timeouts);
  const data = protocol === 'TCP' ? dataOf(flow) : undefined;
  if (data === 'none') {
    const unheard = unheardOf(flow, quietSeconds);
    if (unheard !== undefined) return unheard;
  }
  if (isNew) return { outcome: 'answered', quietSeconds: quietSeconds >= 0 ? quietSeconds : 0, ...defined({ data }) };
  // One end may have sent for minutes, and the other acknowledged nothing.
  const mayBeStuck = protocol === 'TCP' && state === tcpStates.established && !((secondsLeft ?? 0) > timeouts.unacknowledged);
  return mayBeStuck || !(quietSeconds >= 0) ? undefined : { outcome: 'used', quietSeconds, ...defined({ data }) };
}

const mayCarryData: ReadonlySet<number> = new Set([tcpStates.established, tcpStates.finWait, tcpStates.closeWait]);

/** A transfer that runs nearly always has data that is not acknowledged yet: nothing is said of it. */
function unacknowledgedOf(flow: FlowReader, timeouts: Timeouts): FlowOutcome | undefined {
  const { state, secondsLeft = Number.NaN, reply } = flow;
  const quietSeconds = Math.min(timeouts.tcp[state] ?? Number.NaN, timeouts.unacknowledgedLeast) - secondsLeft;
  if (!(quietSeconds >= unacknowledgedSeconds)) return undefined;
  const isLarge = reply.octets >= reply.packets * largePacket && reply.octets <= firstWindow;
  return { outcome: 'unacknowledged', quietSeconds, ...(reply.packets === 0 ? {} : { data: isLarge ? 'large' : 'some' }) };
}

/** Judges a connection whose endpoint has sent no data. A program that only takes data closes the connection when its client does. */
function unheardOf({ state, original, isIPv6 }: FlowReader, quietSeconds: number): FlowOutcome | undefined {
  if (!carriesData(original, isIPv6)) return undefined;
  if (state === tcpStates.closeWait && quietSeconds >= endedSeconds)
    return { outcome: 'unheard', quietSeconds, data: 'none', isEnded: true };
  const isWaiting = state === tcpStates.established && quietSeconds >= waitingSeconds;
  return isWaiting ? { outcome: 'unheard', quietSeconds, data: 'none' } : undefined;
}

function dataOf({ reply, isIPv6 }: FlowReader): ObservedConnection['data'] {
  if (reply.packets === 0) return undefined;
  if (!carriesData(reply, isIPv6)) return 'none';
  return reply.octets >= largeData && reply.octets >= reply.packets * (largePacket / 2) ? 'large' : 'some';
}

/** True when the packets of a direction are certainly larger than their headers. Without timestamps in them, little data may go unnoticed. */
function carriesData({ packets, octets }: FlowCounters, isIPv6: boolean): boolean {
  const network = isIPv6 ? 40 : 20;
  return octets > packets * (network + acknowledgementHeader) + synHeader - acknowledgementHeader;
}

/**
 * Judges an entry that the kernel has deleted. A reset from the endpoint deletes an entry without a reply at once, in state CLOSE and with the
 * time of the packet before it: that of SYN_SENT after a SYN, a longer one in the middle of a connection from another node. Entries that a
 * program deleted have time left and another state. A client that gives up may reset its connection as well, but only after some time. An event about an entry without any left does not mention it.
 */
export function endedOutcomeOf(
  { protocol, status, state, secondsLeft = 0 }: Pick<FlowReader, 'protocol' | 'status' | 'state' | 'secondsLeft'>,
  timeouts: Timeouts,
): FlowOutcome | undefined {
  if (protocol !== 'TCP' || (status & statusBits.replied) !== 0) return undefined;
  const synSent = timeouts.tcp[tcpStates.synSent] ?? Number.NaN;
  const isRecent = secondsLeft <= synSent && secondsLeft >= synSent - silentSeconds;
  if (state === tcpStates.close && isRecent && synSent < timeouts.unacknowledged) return { outcome: 'refused', quietSeconds: 0 };
  if (state === tcpStates.synSent && secondsLeft === 0 && synSent >= silentSeconds) return { outcome: 'silent', quietSeconds: synSent };
  return undefined;
}

/** Returns NaN if it is unknown, and less than 0 if a setting was lowered since. */
function quietOf({ protocol, status, state, secondsLeft = Number.NaN }: FlowReader, timeouts: Timeouts): number {
  if (protocol === 'TCP') return (timeouts.tcp[state] ?? Number.NaN) - secondsLeft;
  if (protocol === 'UDP') return ((status & statusBits.assured) === 0 ? timeouts.udp : timeouts.udpStream) - secondsLeft;
  // The state of SCTP has many times; its heartbeats keep it alive.
  return 0;
}
