/**
 * Returns the candidate closest to the text, for "did you mean". Returns undefined when all candidates differ in more than a third of the
 * characters of the text (one character in a short text).
 */
export function closestName(text: string, candidates: Iterable<string>): string | undefined {
  const wanted = text.slice(0, 64).toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - wanted.length) >= bestDistance) continue;
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Returns the first of the names that is not among the known ones, with the closest known name. Returns undefined if all are known. */
export function firstUnknownName(
  names: Iterable<string>,
  known: readonly string[],
): { readonly name: string; readonly nearest: string | undefined } | undefined {
  for (const name of names) if (!known.includes(name)) return { name, nearest: closestName(name, known) };
  return undefined;
}

/** Levenshtein distance, computed row by row. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substitution, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
