/** Constants of RFC 5880 4.1, with the names of the RFC. */

/** The state of a session (RFC 5880 6.2). */
export type SessionState = 'AdminDown' | 'Down' | 'Init' | 'Up';

/** The index is the number on the wire. */
export const sessionStates: readonly SessionState[] = ['AdminDown', 'Down', 'Init', 'Up'];

/** The reason of the latest state change of a session. */
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

/** Returns the name in the RFC, in lower case. The field holds codes up to 31, including codes without a name. */
export function diagnosticName(code: number): string {
  if (code === diagnostic.none) return 'no diagnostic';
  const [name] = Object.entries(diagnostic).find(([, value]) => value === code) ?? [`diagnostic ${code}`];
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
