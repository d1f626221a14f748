/** One line of a chart. */
export interface Line {
  readonly name: string;
  readonly points: readonly (readonly [number, number])[];
}

export interface Chart {
  readonly title: string;
  /** What the y axis counts. */
  readonly unit: string;
  readonly lines: readonly Line[];
}

const [width, height] = [640, 320];
const plot = { left: 70, right: 620, top: 40, bottom: 260 };
const colours = ['#0b6bcb', '#c2410c', '#15803d', '#7c3aed'];

/** Draws lines over the number of nodes, both axes logarithmic, so that a straight line is a power and its slope the exponent. */
export function chart({ title, unit, lines }: Chart): string {
  const all = lines.flatMap(({ points }) => points).filter(([x, y]) => x > 0 && y > 0);
  const [xs, ys] = [all.map(([x]) => x), all.map(([, y]) => y)];
  const x = scale(Math.min(...xs), Math.max(...xs), plot.left, plot.right);
  const [low, high] = [10 ** Math.floor(Math.log10(Math.min(...ys))), 10 ** Math.ceil(Math.log10(Math.max(...ys) * 1.0001))];
  const y = scale(low, high, plot.bottom, plot.top);
  const decades = Array.from({ length: Math.round(Math.log10(high / low)) + 1 }, (_, index) => low * 10 ** index);
  const grid = decades.map(
    (value) =>
      `<line x1="${plot.left}" y1="${y(value)}" x2="${plot.right}" y2="${y(value)}" stroke="#8884" /><text x="${plot.left - 8}" y="${y(value) + 4}" text-anchor="end">${plain(value)}</text>`,
  );
  const ticks = [...new Set(xs)].map(
    (value) => `<text x="${x(value)}" y="${plot.bottom + 18}" text-anchor="middle">${plain(value)}</text>`,
  );
  const drawn = lines.map(({ name, points }, index) => {
    const colour = colours[index % colours.length] ?? '';
    const shown = points.filter(([at, value]) => at > 0 && value > 0);
    const path = shown.map(([at, value]) => `${x(at)},${y(value)}`).join(' ');
    const dots = shown.map(
      ([at, value]) =>
        `<circle cx="${x(at)}" cy="${y(value)}" r="3.5" fill="${colour}"><title>${plain(value)} ${unit} at ${at} nodes</title></circle>`,
    );
    const legend = `<text x="${plot.left + (index % 2) * 280}" y="${plot.bottom + 38 + 16 * (index >> 1)}" fill="${colour}">${escape(name)}</text>`;
    return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2" />${dots.join('')}${legend}`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12" fill="#777" role="img">`,
    `<title>${escape(title)}</title>`,
    `<text x="${plot.left}" y="20" font-size="14">${escape(title)} (${escape(unit)})</text>`,
    ...grid,
    ...ticks,
    ...drawn,
    '</svg>\n',
  ].join('\n');
}

/** Returns the place of a value on a logarithmic axis. One value alone stands in the middle. */
function scale(from: number, to: number, start: number, end: number): (value: number) => number {
  const span = Math.log(to) - Math.log(from);
  return (value) =>
    Math.round((span === 0 ? (start + end) / 2 : start + ((Math.log(value) - Math.log(from)) / span) * (end - start)) * 10) / 10;
}

const plain = (value: number): string => (value >= 1000 ? value.toLocaleString('en') : String(Number(value.toPrecision(3))));
const escape = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
