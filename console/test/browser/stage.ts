import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { examples, HeraldInLab } from '../../../test/lab/herald.ts';
import { Lab } from '../../../test/lab/lab.ts';
import { standardTopology } from '../../../test/lab/standard-topology.ts';

export const program = join(import.meta.dirname, '../../../bin/herald');
/** Debian's package has it there. */
const browserProgram = '/usr/bin/chromium';
export const nodes = ['node1', 'node2', 'node3'] as const;

/** A lab with routers and Herald, `herald ui` over it, and a browser. */
export interface Stage {
  readonly lab: Lab;
  readonly herald: HeraldInLab;
  readonly browser: Browser;
  /** With the token. */
  readonly address: string;
  /** Ends the process of the console as Ctrl-C does, and returns its exit status. */
  readonly endConsole: () => Promise<number | null>;
  readonly stop: () => Promise<void>;
}

export async function startStage(): Promise<Stage> {
  const pods = nodes.map((node, index) => ({ name: `web-${index + 1}`, node }));
  const lab = await Lab.start(standardTopology({ pods }));
  const herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml', '30-web.yaml']);
  await herald.start(nodes);
  await herald.untilCondition('shop/web', 'Announced', 'True');
  const sockets = ['controller', ...nodes].flatMap((of) => ['--socket', herald.socket(of)]);
  const child = spawn(program, ['ui', '--no-open', '--source', herald.directory, ...sockets], { stdio: ['ignore', 'pipe', 'inherit'] });
  const address = await addressIn(child);
  const browser = await launchBrowser();
  const endConsole = (): Promise<number | null> => endOf(child);
  return {
    lab,
    herald,
    browser,
    address,
    endConsole,
    async stop() {
      await browser.close();
      await endConsole();
      await lab.stop();
    },
  };
}

export const launchBrowser = (): Promise<Browser> => chromium.launch({ executablePath: browserProgram, args: ['--no-sandbox'] });

/** Returns the address that a starting console prints. */
export async function addressIn(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('no output');
  for await (const line of createInterface({ input: child.stdout })) {
    const found = /http:\S+/.exec(line)?.[0];
    if (found !== undefined) return found;
  }
  throw new Error(`herald ui ended with status ${String(child.exitCode)}`);
}

/** Ends the process of a console as Ctrl-C does, and returns its exit status. */
export function endOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve(child.exitCode);
    child.once('exit', (code) => resolve(code));
    child.kill('SIGINT');
  });
}

export interface Visitor {
  /** With the token. */
  readonly address: string;
  readonly page: Page;
  /** Errors that the browser reports: of scripts, of the policy, of files. */
  readonly errors: readonly string[];
  /** Hosts that the page asked. */
  readonly hosts: ReadonlySet<string>;
  readonly open: (path: string) => Promise<void>;
}

/** Opens the printed address in a browser without cookies. */
export async function visit(
  { browser, address }: Pick<Stage, 'browser' | 'address'>,
  settings: Parameters<Browser['newContext']>[0] = {},
): Promise<Visitor> {
  const context: BrowserContext = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...settings });
  const page = await context.newPage();
  const errors: string[] = [];
  const hosts = new Set<string>();
  page.on('console', (message) => {
    // A page may ask for a Service before the console has read it.
    if (message.type() === 'error' && !message.text().includes('status of 404')) errors.push(message.text());
  });
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('request', (request) => hosts.add(new URL(request.url()).host));
  await page.goto(address);
  await page.waitForSelector('.freshness.good');
  const { origin } = new URL(address);
  return { address, page, errors, hosts, open: async (path) => void (await page.goto(`${origin}${path}`)) };
}

/** The commands see what the console sees: the processes of the lab, by their sockets. */
export async function command({ herald }: Stage, ...words: readonly string[]): Promise<string> {
  const sockets = ['controller', ...nodes].flatMap((of) => ['--socket', herald.socket(of)]);
  const { stdout } = await herald.run(...words, '--source', herald.directory, ...sockets);
  return stdout;
}
