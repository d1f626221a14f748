/**
 * Parts that differ in the same answer of AWS each time: the encoded message of a denied call, ids of requests, times, and the name of the
 * session of an IAM role.
 */
const changing: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\.? *Encoded authorization failure message: *\S+/gi, ''],
  [/,? *\(?(?:AWS )?Request ?ID:? *[\w-]+\)?/gi, ''],
  [/\(?\b[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\b\)?/gi, '...'],
  [/\b\d{4}-?\d{2}-?\d{2}T\d{2}:?\d{2}:?\d{2}(?:\.\d+)?Z?/g, '...'],
  [/(:assumed-role\/[\w+=,.@-]+)\/[\w+=,.@-]+/g, '$1'],
];

/**
 * Returns AWS' message without what changes while the cause stays, and without the operation and the code, which the reason names itself.
 */
export function lastingMessage(message: string, ...named: readonly string[]): string {
  const short = named.filter((name) => name !== '').reduce((text, name) => text.replaceAll(`${name}: `, ''), message);
  return changing.reduce((text, [pattern, instead]) => text.replace(pattern, instead), short).trim();
}
