import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { chromium, type Page } from 'playwright-core';
import { conditionLines, conditions } from '../../test/bench/runner/conditions.ts';
import { versionOf } from '../../test/bench/runner/versions.ts';
import { writeManifests } from './manifests.ts';

/**
 * Measures the console with many Services: the time to the first row, a search, and the server's memory beside that of `herald status` over
 * the same directory. The page runs in Debian's Chromium. `node console/bench/main.ts [--services 50000] [--json]`
 */
const { values } = parseArgs({
  options: { services: { type: 'string', default: '50000' }, json: { type: 'boolean', default: false } },
});

const count = Number(values.services);
const program = join(import.meta.dirname, '../../bin/herald');
const loads = 5;
/** Each is typed into the empty search field. */
const searches = ['web-4', 'web-49999', 'ns-7', 'nothing like this', '10.0.1'];

interface Result {
  readonly services: number;
  /** Megabytes: the highest resident set of the process. */
  readonly statusPeak: number;
  /** Megabytes, after every page was loaded: resident now, and the highest. */
  readonly consoleNow: number;
  readonly consolePeak: number;
  /** Seconds of processor time: of `herald status`, and of the console until its first table was there. Less dependent on the load than times. */
  readonly statusCpu: number;
  readonly firstCpu: number;
  /** Milliseconds from the start of the command to its address. */
  readonly start: number;
  /** Milliseconds from the start of a navigation to the first paint, and to the first row of the table. */
  readonly firstPaint: readonly number[];
  readonly firstRow: readonly number[];
  /** Milliseconds from a change of the search field to the next frame with its rows. */
  readonly search: readonly number[];
}

const directory = await mkdtemp(join(tmpdir(), 'herald-bench-console-'));
try {
  await writeManifests(directory, count);
  const result = await measure();
  const of = conditions({ Chromium: versionOf(['/usr/bin/chromium', '--version']) });
  if (values.json) console.log(JSON.stringify({ conditions: of, result }));
  else console.log([conditionLines(of), '', ...table(result)].join('\n'));
} finally {
  await rm(directory, { recursive: true, force: true });
}

async function measure(): Promise<Result> {
  const sockets = ['--socket', 'none'];
  const status = await costOf(['status', '--source', directory, ...sockets]);
  const began = performance.now();
  const server = spawn(program, ['ui', '--no-open', '--source', directory, ...sockets], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()));
  try {
    const address = await addressOf(server);
    const start = performance.now() - began;
    const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
    try {
      const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
      page.setDefaultNavigationTimeout(300_000);
      await page.goto(address);
      await page.waitForSelector('[data-index]', { timeout: 300_000 });
      const firstCpu = await processorSecondsOf(server.pid ?? 0);
      const [firstPaint, firstRow]: [number[], number[]] = [[], []];
      for (let load = 0; load < loads; load++) {
        await page.goto(new URL('/services', address).href);
        await page.waitForSelector('[data-index]', { timeout: 120_000 });
        firstRow.push(Number(await page.evaluate('performance.now()')));
        firstPaint.push(Number(await page.evaluate(`performance.getEntriesByName('first-contentful-paint')[0].startTime`)));
      }
      const search: number[] = [];
      for (const text of searches) search.push(await searched(page, text));
      const { now, peak } = await residentOf(server.pid ?? 0);
      const memory = { statusPeak: status.peak, consoleNow: now, consolePeak: peak };
      return { services: count, ...memory, statusCpu: status.cpu, firstCpu, start, firstPaint, firstRow, search };
    } finally {
      await browser.close();
    }
  } finally {
    server.kill('SIGINT');
    await ended;
  }
}

/** Types a text at once, and waits for the frame after the one in which the page drew its rows. */
async function searched(page: Page, text: string): Promise<number> {
  await page.getByRole('searchbox').fill('');
  await page.waitForTimeout(500);
  return Number(
    await page.evaluate(`new Promise((resolve) => {
      const field = document.querySelector('input[type=search]');
      const began = performance.now();
      const before = document.querySelector('.count').textContent;
      field.value = ${JSON.stringify(text)};
      field.dispatchEvent(new Event('input', { bubbles: true }));
      const look = () => {
        if (document.querySelector('.count').textContent === before) requestAnimationFrame(look);
        else resolve(performance.now() - began);
      };
      requestAnimationFrame(look);
    })`),
  );
}

/** Runs a command to its end, and returns the highest resident set in megabytes and the seconds of processor time that were seen. */
async function costOf(command: readonly string[]): Promise<{ readonly peak: number; readonly cpu: number }> {
  const child = spawn(program, command, { stdio: ['ignore', 'ignore', 'inherit'] });
  const ended = new AbortController();
  child.once('exit', () => ended.abort());
  let [peak, cpu] = [0, 0];
  while (!ended.signal.aborted) {
    peak = Math.max(peak, (await residentOf(child.pid ?? 0)).peak);
    cpu = Math.max(cpu, await processorSecondsOf(child.pid ?? 0));
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return { peak, cpu };
}

/** Megabytes. Zero: the process has ended. */
async function residentOf(pid: number): Promise<{ readonly now: number; readonly peak: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const of = (name: string): number => Math.round(Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1000);
  return { now: of('VmRSS'), peak: of('VmHWM') };
}

/** In user and system mode. Zero: the process has ended. */
async function processorSecondsOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // The kernel counts hundredths of a second for programs (USER_HZ).
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / 100;
}

async function addressOf({ stdout, exitCode }: ChildProcess): Promise<string> {
  if (stdout !== null)
    for await (const line of createInterface({ input: stdout })) {
      const found = /http:\S+/.exec(line)?.[0];
      if (found !== undefined) return found;
    }
  throw new Error(`herald ui ended with status ${String(exitCode)}`);
}

function table(result: Result): string[] {
  const { services, statusPeak, statusCpu, firstCpu, consoleNow, consolePeak, start, firstPaint, firstRow, search } = result;
  return [
    `${services} Services`,
    `memory      herald status ${statusPeak} MB at most; console ${consoleNow} MB, ${consolePeak} MB at most (goal: ${statusPeak + 300})`,
    `processor   herald status ${statusCpu} s; console ${firstCpu} s until its first table`,
    `start       ${Math.round(start)} ms from the command to its address`,
    `first paint ${spread(firstPaint)} ms; first row ${spread(firstRow)} ms (goal: 1500)`,
    `search      ${spread(search)} ms (goal: 50)`,
  ];
}

function spread(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b).map((time) => Math.round(time));
  return `${sorted[Math.floor(sorted.length / 2)]} (worst ${sorted.at(-1)})`;
}
