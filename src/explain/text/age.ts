/** Formats a duration for sentences: "45 s", "12 min", "3 h", "9 d". */
export function ageText(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 120 * 60) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/** Formats a duration as one word for tables: "45s", "12m30s", "3h5m", "9d4h". */
export function shortAge(seconds: number): string {
  const units = [
    ['d', 86_400],
    ['h', 3600],
    ['m', 60],
    ['s', 1],
  ] as const;
  const first = units.findIndex(([, length]) => seconds >= length);
  if (first === -1) return '0s';
  let left = seconds;
  return units
    .slice(first, first + 2)
    .map(([unit, length]) => {
      const count = Math.floor(left / length);
      left -= count * length;
      return count === 0 ? '' : `${count}${unit}`;
    })
    .join('');
}

/** Returns whole seconds from an RFC 3339 time to `now` (milliseconds), never negative. Undefined: the text is not a time. */
export function secondsSince(text: string | undefined, now: number): number | undefined {
  // oxlint-disable-next-line no-restricted-globals -- reading a date from text is pure
  const at = Date.parse(text ?? '');
  return Number.isNaN(at) ? undefined : Math.max(0, Math.floor((now - at) / 1000));
}
