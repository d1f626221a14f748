/**
 * Returns the first line that a page shows and that was not printed, or undefined when all were printed in this order.
 *
 * Other lines may stand between them. A number matches any number, a time (10 s, 4m10s) any time, `...` anything, and a space any spaces: a
 * page shows the shape of an answer, not the addresses, times and widths of one day.
 */
export function missingLine(shown: string, printed: string): string | undefined {
  const lines = printed.split('\n');
  let from = 0;
  for (const line of shown.split('\n').filter((text) => !/^(\.\.\.)?$/.test(text.trim()))) {
    const pattern = patternOf(line);
    const found = lines.findIndex((candidate, index) => index >= from && pattern.test(candidate));
    if (found === -1) return line;
    from = found + 1;
  }
  return undefined;
}

function patternOf(line: string): RegExp {
  const words = line.trim().split(/(\.\.\.|\b\d+ (?:ms|s|min|h|d)\b|\b(?:\d+[dhms])+\b|\d+|\s+)/);
  const parts = words.map((word) => {
    if (word === '...') return '.*';
    if (/^\d+ [a-z]+$/.test(word)) return String.raw`\d+ (?:ms|s|min|h|d)`;
    if (/^(\d+[dhms])+$/.test(word)) return String.raw`(?:\d+[dhms])+`;
    if (/^\d+$/.test(word)) return String.raw`\d+`;
    return /^\s+$/.test(word) ? String.raw`\s+` : word.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
  });
  return new RegExp(String.raw`^\s*${parts.join('')}\s*$`);
}
