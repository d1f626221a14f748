/** A part of the time line, in milliseconds since the epoch. */
export interface Window {
  readonly from: number;
  readonly to: number;
}

/** The shortest part to which the time line zooms in. */
const shortest = 1000;

/** Returns the part that the URL names, else everything from the first entry to now. */
export function windowOf(query: URLSearchParams, all: Window): Window {
  const [from, to] = ['from', 'to'].map((name) => Date.parse(query.get(name) ?? ''));
  if (from === undefined || to === undefined || Number.isNaN(from) || Number.isNaN(to) || to <= from) return all;
  return { from, to };
}

/** `factor` below 1 zooms in, above 1 out. The middle stays. */
export function zoomed({ from, to }: Window, factor: number): Window {
  const half = (Math.max(shortest, (to - from) * factor) || shortest) / 2;
  const middle = (from + to) / 2;
  return { from: middle - half, to: middle + half };
}

/** `share` of its length later, or earlier if negative. */
export function moved({ from, to }: Window, share: number): Window {
  const by = (to - from) * share;
  return { from: from + by, to: to + by };
}

export function between(one: number, other: number): Window {
  const [from, to] = one < other ? [one, other] : [other, one];
  return zoomed({ from, to }, 1);
}

/** As the URL has it. */
export function queryOf({ from, to }: Window): { readonly from: string; readonly to: string } {
  return { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
}
