/**
 * Draws a terminal session as SVG: runs a command in a pseudo-terminal and writes its output with its colours.
 *
 *   node scripts/demo-svg.ts [FILE.svg] [COMMAND...]
 *
 * Default: docs/images/demo.svg and `npm run demo`, as the README shows it. Needs the same programs as the command.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

const [file = 'docs/images/demo.svg', ...words] = process.argv.slice(2);
const command = words.length > 0 ? words.join(' ') : 'npm run --silent demo';

const fontSize = 13;
const lineHeight = 18;
const characterWidth = 7.82;
const margin = 16;
const titleBar = 34;
/** Longer lines are cut and end with an ellipsis, so that the picture is readable at the width of a page. */
const columns = 128;

/** The SGR codes (ECMA-48 8.3.117) of the demo, as styles of a span. */
const styles: Readonly<Record<string, string>> = {
  '1': 'font-weight="bold" fill="#ffffff"',
  '2': 'fill="#8b949e"',
  '31': 'fill="#ff7b72"',
  '32': 'fill="#56d364"',
  '36': 'fill="#79c0ff"',
};

interface Span {
  readonly text: string;
  readonly style: string | undefined;
}

const { stdout, status } = spawnSync('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
  encoding: 'utf8',
  maxBuffer: 2 ** 24,
  stdio: ['ignore', 'pipe', 'inherit'],
});
if (status !== 0) {
  console.error(`${command} ended with status ${status ?? 'none'}; ${file} is unchanged`);
  process.exit(1);
}
mkdirSync(dirname(file), { recursive: true });
writeFileSync(file, svg(linesOf(stdout)));
console.log(file);

function linesOf(output: string): string[] {
  const lines = output.replaceAll('\r', '').split('\n');
  const first = lines.findIndex((line) => line.trim() !== '');
  return lines.slice(first, lines.findLastIndex((line) => line.trim() !== '') + 1);
}

function svg(lines: readonly string[]): string {
  const width = Math.ceil(columns * characterWidth + 2 * margin);
  const height = titleBar + lines.length * lineHeight + margin;
  const dots = ['#ff5f56', '#ffbd2e', '#27c93f'].map((fill, at) => `<circle cx="${margin + 6 + 20 * at}" cy="17" r="6" fill="${fill}"/>`);
  const rows = lines.map((line, row) => {
    const y = titleBar + (row + 0.75) * lineHeight;
    return `<text x="${margin}" y="${y}" xml:space="preserve">${spansOf(line).map(drawSpan).join('')}</text>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="${fontSize}" fill="#c9d1d9">`,
    `<title>${escaped(`${command}, as a terminal shows it`)}</title>`,
    `<rect width="100%" height="100%" rx="8" fill="#0d1117"/>`,
    ...dots,
    `<text x="50%" y="21" text-anchor="middle" fill="#8b949e">$ ${escaped(command.replace(' --silent', ''))}</text>`,
    ...rows,
    '</svg>',
    '',
  ].join('\n');
}

/** Splits a line at its SGR sequences and cuts it at `columns`. */
function spansOf(line: string): Span[] {
  const spans: Span[] = [];
  let style: string | undefined;
  let room = columns;
  // eslint-disable-next-line no-control-regex -- ESC begins every SGR sequence.
  for (const part of line.split(/(\u001B\[\d*m)/)) {
    // eslint-disable-next-line no-control-regex -- As above.
    const code = /^\u001B\[(\d*)m$/.exec(part)?.[1];
    if (code !== undefined) {
      style = styles[code];
      continue;
    }
    if (part === '' || room === 0) continue;
    const text = part.length > room ? `${part.slice(0, room - 1)}…` : part;
    room -= text.length;
    spans.push({ text, style });
  }
  return spans;
}

function drawSpan({ text, style }: Span): string {
  return style === undefined ? `<tspan>${escaped(text)}</tspan>` : `<tspan ${style}>${escaped(text)}</tspan>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
