/** The fate of one attempt to reach an address. Times are milliseconds since the attempt began. */
export type ProbeResult =
  /** A connection was established, or a datagram came back. */
  | { readonly result: 'answered'; readonly milliseconds: number }
  /** TCP reset, or ICMP "port unreachable": the kernel reports both alike. */
  | { readonly result: 'refused'; readonly milliseconds: number }
  /** This host has no way there, or a router or filter said so by ICMP. */
  | { readonly result: 'unreachable'; readonly milliseconds: number; readonly error: string }
  /** No packet came back in time. */
  | { readonly result: 'silent'; readonly milliseconds: number }
  /** No packet was sent, because this host lacks something: descriptors, ports, a protocol. It says nothing of the address. */
  | { readonly result: 'notSent'; readonly milliseconds: number; readonly error: string };

/**
 * Codes of errors that mean "no way there": the kernel returns EACCES for a route of type prohibit, EINVAL for blackhole, and EPERM when a
 * filter of this host refuses the packet.
 */
const unreachableCodes = new Set(['EHOSTUNREACH', 'ENETUNREACH', 'ENETDOWN', 'EHOSTDOWN', 'EACCES', 'EPERM', 'EINVAL', 'ENONET']);
const refusedCodes = new Set(['ECONNREFUSED', 'ECONNRESET']);

/** Returns the result that an error of connect(2) or send(2) stands for. */
export function resultOfError(code: string | undefined, milliseconds: number): ProbeResult {
  const error = code ?? 'UNKNOWN';
  if (refusedCodes.has(error)) return { result: 'refused', milliseconds };
  if (unreachableCodes.has(error)) return { result: 'unreachable', milliseconds, error };
  if (error === 'ETIMEDOUT') return { result: 'silent', milliseconds };
  return { result: 'notSent', milliseconds, error };
}
