import type { KernelDrops, TransportFailure } from '../transport/transport.ts';
import { cease, errorCode, errorName, openError } from '../wire/codes.ts';
import { describeNotification, innermost, type Notification } from '../wire/notification.ts';

/** Why a session is not established, or went down. */
export type Problem =
  | { readonly kind: 'connectFailed'; readonly failure: TransportFailure }
  | { readonly kind: 'connectTimeout'; readonly seconds: number }
  /** `handshake`: before the peer sent its OPEN. For other kinds: before the session was established. */
  | { readonly kind: 'lost'; readonly failure: TransportFailure | undefined; readonly handshake: boolean }
  | { readonly kind: 'holdTimerExpired'; readonly seconds: number; readonly handshake: boolean }
  | { readonly kind: 'sendHoldTimerExpired' }
  | { readonly kind: 'received'; readonly notification: Notification }
  | { readonly kind: 'sent'; readonly notification: Notification; readonly detail: string }
  | { readonly kind: 'stopped'; readonly notification: Notification }
  /** Closed without a NOTIFICATION, so that the peer keeps the routes. */
  | { readonly kind: 'suspended' }
  /** The peer connected again and says that it restarted. */
  | { readonly kind: 'peerRestarted' }
  /** Both sides had connected, and the other connection was kept. */
  | { readonly kind: 'collision' };

/** Facts about the peer that the description needs. */
export interface ProblemContext {
  /** For example "192.0.2.1 port 179". */
  readonly target: string;
  readonly hasPassword: boolean;
  readonly hasTcpAo?: boolean;
  readonly localAsn: number;
  readonly ttlSecurityHops: number | undefined;
  /** The session was established with these options before, so the peer had the same password and TTL security then. */
  readonly wasEstablished: boolean;
  /** Segments that the kernel has dropped since the connection was dialed. */
  readonly drops: KernelDrops | undefined;
}

/** Describes the problem for the operator of the peer. */
export function describeProblem(problem: Problem, context: ProblemContext): string {
  const { target } = context;
  switch (problem.kind) {
    case 'connectFailed':
      return describeConnectFailure(problem.failure, context);
    case 'connectTimeout':
      return `no answer from ${target} within ${problem.seconds} s: ${explainSilence(context)}`;
    case 'lost':
      return describeLoss(problem, context);
    case 'holdTimerExpired':
      return `hold timer expired: nothing was heard from the peer for ${problem.seconds} s${problem.handshake ? explainOneWayLoss(context) : ''}`;
    case 'sendHoldTimerExpired':
      return 'send hold timer expired: the peer has stopped reading';
    case 'received':
      return `the peer closed the session: ${describeNotification(problem.notification)}${hint(problem.notification, context)}`;
    case 'sent':
      return `${problem.detail}: closed with ${errorName(problem.notification.code, problem.notification.subcode)}`;
    case 'stopped':
      return `closed by us: ${describeNotification(problem.notification)}`;
    case 'suspended':
      return 'closed by us without a NOTIFICATION, so that the peer keeps our routes until we are back';
    case 'peerRestarted':
      return 'the peer has restarted and connected again';
    case 'collision':
      return 'both sides had connected, and the other connection was chosen';
  }
}

/** Returns the drops between two readings, or undefined if one is missing. */
export function newDrops(before: KernelDrops | undefined, now: KernelDrops | undefined): KernelDrops | undefined {
  if (before === undefined || now === undefined) return undefined;
  return {
    missing: now.missing - before.missing,
    unexpected: now.unexpected - before.unexpected,
    wrong: now.wrong - before.wrong,
    belowMinimumTtl: now.belowMinimumTtl - before.belowMinimumTtl,
  };
}

/** Replaces each count by 0 or 1, so that the description is the same for each attempt. */
export function withoutNumbers(drops: KernelDrops | undefined): KernelDrops | undefined {
  if (drops === undefined) return undefined;
  const { missing, unexpected, wrong, belowMinimumTtl } = drops;
  const some = (count: number): number => Math.min(count, 1);
  return { missing: some(missing), unexpected: some(unexpected), wrong: some(wrong), belowMinimumTtl: some(belowMinimumTtl) };
}

/** Describes a lost connection. Many routers accept every connection and close it at once if no such neighbour is configured. */
function describeLoss({ failure, handshake }: Problem & { readonly kind: 'lost' }, context: ProblemContext): string {
  const unknown = handshake && (failure === undefined || failure.kind === 'reset') ? ': it may not have us as a neighbour' : '';
  return failure === undefined
    ? `the peer closed the connection without saying why${unknown}`
    : `the connection was lost: ${failure.detail}${likelyCause(context) || unknown}`;
}

function describeConnectFailure(failure: TransportFailure, context: ProblemContext): string {
  const { target } = context;
  switch (failure.kind) {
    case 'refused':
      return `connection refused by ${target}: no BGP speaker listens there, or it does not know us`;
    case 'unreachable':
      return `${target} is unreachable: ${failure.detail}`;
    case 'timeout':
      return `no answer from ${target}: ${explainSilence(context)}`;
    case 'reset':
      return `${target} reset the connection`;
    case 'unsupported':
    case 'notReady':
    case 'noVrf':
      return failure.detail;
    case 'inUse':
    case 'denied':
    case 'other':
      return `cannot connect to ${target}: ${failure.detail}`;
  }
}

/**
 * Explains why the peer does not answer. The kernel of the peer silently drops segments with a wrong signature or TTL (RFC 2385 2, RFC 5082
 * 3), so both look like a dead peer. The local kernel counts its drops, but for all connections together. Without such a count, a peer that
 * accepted the same options before is not suspected of demanding others.
 */
function explainSilence(context: ProblemContext): string {
  const seen = describeDrops(context);
  if (seen !== undefined) return seen;
  if (context.wasEstablished) return 'packets are dropped on the way, or it is down';
  if (context.hasTcpAo === true) {
    return 'the keys of TCP-AO may differ from those that the peer has for us, or packets are dropped on the way';
  }
  const password = context.hasPassword
    ? 'the TCP MD5 password may differ from the one that the peer has for us'
    : 'the peer may demand a TCP MD5 password';
  const ttl = context.ttlSecurityHops === undefined ? ' or TTL security' : '';
  return `${password}${context.hasPassword ? '' : ttl}, or packets are dropped on the way`;
}

/** Mentions the drops of the kernel if they may be the cause. */
function likelyCause(context: ProblemContext): string {
  const seen = describeDrops(context);
  return seen === undefined ? '' : `; ${seen}`;
}

/** Explains a connection that was made although one side then received nothing from the other. */
function explainOneWayLoss(context: ProblemContext): string {
  const seen = describeDrops(context);
  if (seen !== undefined) return `; ${seen}`;
  if (context.wasEstablished) return ' although it took the connection: packets of one direction are dropped on the way';
  return context.ttlSecurityHops === undefined
    ? ' although it took the connection: it may drop what we send, because it demands TTL security'
    : ' although it took the connection: one side may drop what the other sends, because of different TTL security';
}

/**
 * A finding of the local kernel that explains silence: segments with a wrong signature, without the expected one, with one although we have
 * no password, or with a TTL below the minimum.
 */
export type KernelFinding = 'wrongSignature' | 'noSignature' | 'unexpectedSignature' | 'lowTtl';

/** Returns a finding only if our options make it concern this peer. */
export function kernelFinding({ drops, hasPassword, ttlSecurityHops }: ProblemContext): KernelFinding | undefined {
  if (drops === undefined) return undefined;
  const { wrong, missing, unexpected, belowMinimumTtl } = drops;
  if (hasPassword && wrong > 0) return 'wrongSignature';
  if (hasPassword && missing > 0) return 'noSignature';
  if (!hasPassword && unexpected > 0) return 'unexpectedSignature';
  return ttlSecurityHops !== undefined && belowMinimumTtl > 0 ? 'lowTtl' : undefined;
}

function describeDrops(context: ProblemContext): string | undefined {
  const finding = kernelFinding(context);
  const { drops, ttlSecurityHops = 1 } = context;
  if (drops === undefined || finding === undefined) return undefined;
  const { wrong, missing, unexpected, belowMinimumTtl } = drops;
  switch (finding) {
    case 'wrongSignature':
      return `the TCP MD5 password differs from the one that the peer has for us, it seems: meanwhile the kernel dropped ${wrong} segments with a wrong signature`;
    case 'noSignature':
      return `the peer has no TCP MD5 password for us, it seems: meanwhile the kernel dropped ${missing} segments without a signature`;
    case 'unexpectedSignature':
      return `the peer has a TCP MD5 password for us and we have none, it seems: meanwhile the kernel dropped ${unexpected} signed segments`;
    case 'lowTtl':
      return `the peer does not send with TTL 255, or is more than ${ttlSecurityHops} hops away, it seems: meanwhile the kernel dropped ${belowMinimumTtl} segments with a TTL below ${256 - ttlSecurityHops}`;
  }
}

/** Explains the probable meaning of a NOTIFICATION from the peer. */
function hint(notification: Notification, { localAsn }: ProblemContext): string {
  const { code, subcode } = innermost(notification);
  if (code === errorCode.cease && subcode === cease.connectionCollision) {
    return ': it still has an earlier connection with us, and accepts a new one when it notices that the earlier one has ended';
  }
  if (code !== errorCode.open) return '';
  if (subcode === openError.peerAs) return `: it expects another AS number of us than ${localAsn}`;
  if (subcode === openError.routerId) return ': it rejects our router ID, or it uses the same one';
  return '';
}

/** Tells whether the session was closed because BFD reported the path as lost (RFC 9384). */
export function isPathLoss(problem: Problem): boolean {
  return problem.kind === 'stopped' && isCease(problem.notification, [cease.bfdDown]);
}

export function isCease(notification: Notification, subcodes: readonly number[]): boolean {
  const { code, subcode } = innermost(notification);
  return code === errorCode.cease && subcodes.includes(subcode);
}
