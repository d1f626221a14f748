const good = new Set([
  'Announced',
  'Programmed',
  'Accepted',
  'SessionUp',
  'Owner',
  'AddressAssigned',
  'Resumed',
  'Rejoined',
  'ConflictEnded',
]);
const bad = new Set([
  'Withdrawn',
  'Removed',
  'Refused',
  'SessionDown',
  'Conflict',
  'Disputed',
  'Stalled',
  'Suspended',
  'Isolated',
  'AddressNotAssigned',
  'NotAnnounced',
  'NotProgrammed',
]);

/** Whether an event gave something or took it away. "": neither. */
export function toneOf(what: string): 'good' | 'bad' | '' {
  return good.has(what) ? 'good' : bad.has(what) ? 'bad' : '';
}
