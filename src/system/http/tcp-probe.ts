import { connect } from 'node:net';
import type { Cancel, Clock } from '../clock.ts';

/** answered: the connection was established. refused: something rejected it. silent: nothing answered in time. */
export type ProbeOutcome = 'answered' | 'refused' | 'silent';

interface ProbeHandlers {
  /** Called once. Undefined: this host could not try, which says nothing about the other one. */
  readonly onOutcome: (outcome: ProbeOutcome | undefined) => void;
  /** The socket is closed. Called last, also after the probe was cancelled. */
  readonly onClosed: () => void;
}

/** Opens a TCP connection and closes it. The returned function gives up. `address` is an IP address. */
export type ProbeTcp = (place: { readonly address: string; readonly port: number }, handlers: ProbeHandlers) => Cancel;

interface ProbeTimes {
  /** Milliseconds for the connection. */
  readonly answerMilliseconds: number;
  /** Milliseconds for the other side to close, once the connection is established. */
  readonly closeMilliseconds: number;
}

/**
 * Returns a prober. It closes an established connection by FIN and reads until the other side has closed too: a socket with unread data would
 * send a reset, which servers log as an error.
 */
export function tcpProber(clock: Clock, { answerMilliseconds, closeMilliseconds }: ProbeTimes): ProbeTcp {
  return ({ address, port }, { onOutcome, onClosed }) => {
    const began = clock.now();
    let isDone = false;
    const finish = (outcome: ProbeOutcome | undefined): void => {
      if (isDone) return;
      isDone = true;
      onOutcome(outcome);
    };
    const socket = connect({ host: address, port });
    let cancel = clock.after(answerMilliseconds, () => {
      finish('silent');
      socket.destroy();
    });
    socket.once('connect', () => {
      cancel();
      cancel = clock.after(closeMilliseconds, () => socket.destroy());
      finish('answered');
      socket.resume();
      socket.end();
    });
    socket.on('error', (error: NodeJS.ErrnoException) => finish(outcomeOf(error.code, clock.now() - began)));
    socket.once('close', () => {
      cancel();
      finish(undefined);
      onClosed();
    });
    return () => {
      finish(undefined);
      socket.destroy();
    };
  };
}

/**
 * The kernel reports an ICMP error of a filter on the way, and its own when no machine on the link answers for the address, by the same codes. Its
 * own comes after the attempts to find that machine, which take longer than most round trips.
 */
function outcomeOf(code: string | undefined, milliseconds: number): ProbeOutcome | undefined {
  // EACCES: an ICMPv6 error of a filter.
  if (code === 'ECONNREFUSED' || code === 'ECONNRESET' || code === 'EACCES') return 'refused';
  if (code === 'ETIMEDOUT') return 'silent';
  if (code === 'EHOSTUNREACH' || code === 'ENETUNREACH') return milliseconds < icmpMilliseconds ? 'refused' : 'silent';
  return undefined;
}

const icmpMilliseconds = 900;
