/** A cell of a table. "" is shown as "-"; undefined stays blank, because the row above applies. */
export type Cell = string | undefined;

/** Formats a table: columns are as wide as their widest cell, two spaces apart. Missing cells at the end of a row are undefined. */
export function tableLines(titles: readonly string[], rows: readonly (readonly Cell[])[]): string[] {
  const shown = [titles, ...rows].map((row) => titles.map((_, column) => cellText(row[column])));
  const widths = titles.map((_, column) => shown.reduce((widest, row) => Math.max(widest, (row[column] ?? '').length), 0));
  return shown.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

function cellText(cell: Cell): string {
  return cell === '' ? '-' : (cell ?? '');
}

/** Formats counts, the most frequent first: "PoolFull 3, AgentSilent 1". */
export function countsText(counts: readonly { readonly code: string; readonly count: number }[]): string {
  return counts.map(({ code, count }) => `${code} ${count}`).join(', ');
}

/** Counts equal codes: the most frequent first, then by name. */
export function countsOf(codes: Iterable<string>): { readonly code: string; readonly count: number }[] {
  const counts = Map.groupBy(codes, (code) => code);
  return [...counts]
    .map(([code, all]) => ({ code, count: all.length }))
    .toSorted((a, b) => b.count - a.count || (a.code < b.code ? -1 : 1));
}

/** "a, b and 7 more": names at most `some` of them. */
export function nameSome(names: readonly string[], some: number): string {
  const shown = names.slice(0, some).join(', ');
  return names.length > some ? `${shown} and ${names.length - some} more` : shown;
}
