/** Numbers of RFC 5880 4.1, by the names that it gives them. */

/** A session's state; its place is its number on the wire. */
export const sessionStates = ['AdminDown', 'Down', 'Init', 'Up'] as const;
export type SessionState = (typeof sessionStates)[number];

/** Why a session has changed its state for the last time. */
export const diagnostic = {
  none: 0,
  controlDetectionTimeExpired: 1,
  echoFunctionFailed: 2,
  neighborSignaledSessionDown: 3,
  forwardingPlaneReset: 4,
  pathDown: 5,
  concatenatedPathDown: 6,
  administrativelyDown: 7,
  reverseConcatenatedPathDown: 8,
} as const;

const diagnosticNames: readonly string[] = [
  'no diagnostic',
  'control detection time expired',
  'echo function failed',
  'neighbor signaled session down',
  'forwarding plane reset',
  'path down',
  'concatenated path down',
  'administratively down',
  'reverse concatenated path down',
];

/** In the words of the RFC; codes up to 31 fit into the field, and those without a name may come. */
export function diagnosticName(code: number): string {
  return diagnosticNames[code] ?? `diagnostic ${code}`;
}
