import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { defined } from '../../../../src/lang/defined.ts';
import { foreground } from '../../../../test/conformance/foreground.ts';
import { freePorts } from '../../../../test/conformance/free-port.ts';
import type { LabProcess } from '../../../../test/lab/lab-process.ts';
import { until } from '../../../../test/lab/until.ts';

const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'herald');
const wanted = /^moto==(.+)$/m.exec(readFileSync(join(import.meta.dirname, 'moto-requirements.txt'), 'utf8'))?.[1] ?? '';

/** Installations of scripts/setup-aws.sh, best first. The script reads HERALD_MOTO too, with the same meaning. */
const installations = [
  { source: 'pypi', version: wanted, directory: join(cache, `moto-${wanted}`) },
  { source: 'debian', version: '5.1.1', directory: join(cache, 'moto-5.1.1-debian') },
].filter(({ source }) => [undefined, source].includes(process.env['HERALD_MOTO']));

function installed(): (typeof installations)[number] {
  const found = installations.find(({ directory }) => existsSync(join(directory, 'bin/moto-python')));
  if (found === undefined) throw new Error('moto is not installed yet: sh scripts/setup-aws.sh');
  return found;
}

export const installedVersion = (): string => installed().version;

/**
 * A moto server on loopback, with an empty account. The kernel ends it when this process is killed.
 *
 *   await using moto = await Moto.start();
 *   new EC2Client({ endpoint: moto.endpoint, ... });
 *   await moto.reset();                                   the account is empty again
 */
export class Moto implements AsyncDisposable {
  /** For example "http://127.0.0.1:34567". */
  readonly endpoint: string;
  readonly #directory: string;
  readonly #process: LabProcess;

  private constructor(python: string, port: number) {
    this.endpoint = `http://127.0.0.1:${port}`;
    this.#directory = mkdtempSync(join(tmpdir(), 'herald-moto-'));
    this.#process = foreground(
      [python, join(import.meta.dirname, 'moto-server.py'), '-H', '127.0.0.1', '-p', String(port)],
      join(this.#directory, 'moto.log'),
    );
  }

  static async start(): Promise<Moto> {
    const found = installed();
    const [port = 0] = await freePorts(1);
    const moto = new Moto(join(found.directory, 'bin/moto-python'), port);
    try {
      await until('moto answers', async () => !moto.#process.running || (await fetch(`${moto.endpoint}/moto-api/data.json`)).ok, 60_000);
      if (!moto.#process.running) throw new Error(moto.log());
      return moto;
    } catch (error) {
      const log = moto.log();
      await moto.stop();
      throw new Error(`moto did not start: ${log}`, { cause: error });
    }
  }

  get pid(): number {
    return this.#process.pid;
  }

  /** Returns the last lines of its log. Each request is one line. */
  log(): string {
    return this.#process.lines().slice(-20).join('\n');
  }

  /** Empties every account. */
  async reset(): Promise<void> {
    await this.#post('/moto-api/reset');
  }

  /** Switches the check of requests against the IAM policies of their access key on or off. */
  async checkAccess(on: boolean): Promise<void> {
    await this.#post('/moto-api/reset-auth', on ? '0' : 'inf');
  }

  /** Sends one call in AWS' query protocol, for services without a client in Herald. Resolves with the XML of the answer. */
  async query(service: string, parameters: Readonly<Record<string, string>>): Promise<string> {
    const answer = await fetch(this.endpoint, {
      method: 'POST',
      headers: { authorization: `AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/${service}/aws4_request` },
      body: new URLSearchParams(parameters),
    });
    if (!answer.ok) throw new Error(`moto: ${parameters['Action']}: ${answer.status} ${await answer.text()}`);
    return answer.text();
  }

  async stop(): Promise<void> {
    await this.#process.stop();
    rmSync(this.#directory, { recursive: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #post(path: string, body?: string): Promise<void> {
    const answer = await fetch(`${this.endpoint}${path}`, { method: 'POST', ...defined({ body }) });
    if (!answer.ok) throw new Error(`moto: ${path}: ${answer.status} ${await answer.text()}`);
  }
}
