import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Clock } from '../../system/clock.ts';
import { limits } from '../limits.ts';
import type { Redaction } from '../reading/redaction.ts';
import { tar } from '../../lang/tar.ts';

/** The outcome of one part of a bundle. */
interface PartReport {
  readonly part: string;
  /** Why the part is missing or incomplete. */
  readonly problem?: string;
}

interface BundleComponents {
  readonly clock: Clock;
  readonly redaction: Redaction;
  /** Reports progress in one line. */
  readonly progress: (line: string) => void;
}

/**
 * Collects the files of an archive, without secrets and within a size limit. A part that fails is recorded, and the others are collected
 * all the same.
 */
export class Bundle {
  readonly redaction: Redaction;
  readonly #components: BundleComponents;
  readonly #files = new Map<string, Buffer>();
  readonly #reports: PartReport[] = [];
  #bytes = 0;
  #listBytes = 0;

  constructor(components: BundleComponents) {
    this.#components = components;
    this.redaction = components.redaction;
  }

  get reports(): readonly PartReport[] {
    return this.#reports;
  }

  /** Collects a part and returns what it found. When it fails, the failure is recorded in the bundle and the result is undefined. */
  async collect<T>(part: string, collect: () => Promise<T>): Promise<T | undefined> {
    const { progress } = this.#components;
    progress(`${part} ...`);
    try {
      const found = await collect();
      this.#reports.push({ part });
      return found;
    } catch (error) {
      this.recordFailure(part, error);
      return undefined;
    }
  }

  recordFailure(part: string, error: unknown): void {
    // Errors may quote what could not be read.
    const problem = this.redaction.text(error instanceof Error ? error.message : String(error));
    this.#components.progress(`${part}: ${problem}`);
    this.#reports.push({ part, problem });
  }

  /** Adds a text file. A text that is too long loses its beginning, because the end of a log matters most. */
  addText(path: string, text: string): void {
    const clean = this.redaction.text(text);
    const content = Buffer.from(clean.endsWith('\n') || clean === '' ? clean : `${clean}\n`);
    const tooLong = content.length > limits.bundleFileBytes;
    this.#add(path, tooLong ? content.subarray(content.length - limits.bundleFileBytes) : content);
    if (tooLong) this.recordFailure(path, new Error(`its first ${content.length - limits.bundleFileBytes} octets are left out`));
  }

  /** Adds a value as JSON, with its secrets removed field by field. */
  addJson(path: string, value: unknown): void {
    this.#whole(path, `${JSON.stringify(this.redaction.object(value), undefined, 2)}\n`);
  }

  /**
   * Adds objects as `kubectl get -o json` prints them, which `herald explain -f` reads. The first object that does not fit, and all after
   * it, are left out.
   */
  addObjects(path: string, objects: readonly unknown[]): void {
    const items: string[] = [];
    let bytes = 0;
    for (const object of objects) {
      const clean = this.redaction.object(object);
      if (clean === undefined) continue;
      const text = JSON.stringify(clean);
      bytes += Buffer.byteLength(text);
      if (bytes > limits.bundleFileBytes) {
        this.recordFailure(path, new Error(`${objects.length - items.length} of ${objects.length} objects are left out: they do not fit`));
        break;
      }
      items.push(text);
    }
    if (items.length > 0) this.#whole(path, `{"apiVersion": "v1", "kind": "List", "items": [\n${items.join(',\n')}\n]}\n`);
  }

  /** Adds a list of a running process, one item a line. When there is not room for all, the first or the last items are kept. */
  addList(path: string, about: object, items: readonly unknown[], keep: 'first' | 'last'): void {
    const beginning = `${JSON.stringify(this.redaction.object(about)).slice(0, -1)}, "items": [\n`;
    const end = '\n]}\n';
    // Half of the remaining room, so that every process gets some, however many there are.
    const room = Math.min(limits.bundleFileBytes, Math.floor((limits.bundleListsBytes - this.#listBytes) / 2));
    let bytes = Buffer.byteLength(beginning) + end.length;
    const lines: string[] = [];
    for (const item of keep === 'first' ? items : items.toReversed()) {
      const line = JSON.stringify(this.redaction.object(item) ?? null);
      bytes += Buffer.byteLength(line) + 2;
      if (bytes > room) {
        const place = keep === 'first' ? 'last' : 'first';
        this.recordFailure(
          path,
          new Error(`the ${place} ${items.length - lines.length} of ${items.length} items are left out: they do not fit`),
        );
        break;
      }
      lines.push(line);
    }
    const text = `${beginning}${(keep === 'first' ? lines : lines.toReversed()).join(',\n')}${end}`;
    this.#listBytes += Buffer.byteLength(text);
    this.#whole(path, text);
  }

  /** Returns the gzipped archive. All its files are in one directory. */
  async archive(directory: string, about: object): Promise<Buffer> {
    const summary = { ...about, parts: this.#reports };
    const all = new Map([['README.txt', Buffer.from(readme(this.#reports))], ...this.#files]);
    all.set('bundle.json', Buffer.from(`${JSON.stringify(this.redaction.object(summary), undefined, 2)}\n`));
    const entries = [...all].map(([path, content]) => ({ path: `${directory}/${path}`, content, mode: 0o600 }));
    return promisify(gzip)(tar(entries, this.#components.clock.date()));
  }

  #whole(path: string, text: string): void {
    const content = Buffer.from(text);
    if (content.length > limits.bundleFileBytes) this.recordFailure(path, new Error(`left out: it has ${content.length} octets`));
    else this.#add(path, content);
  }

  #add(path: string, content: Buffer): void {
    if (this.#bytes + content.length > limits.bundleBytes) {
      this.recordFailure(path, new Error(`left out: the bundle would have more than ${limits.bundleBytes} octets`));
      return;
    }
    this.#bytes += content.length;
    this.#files.set(path, content);
  }
}

function readme(reports: readonly PartReport[]): string {
  const missing = reports.flatMap(({ part, problem }) => (problem === undefined ? [] : [`  ${part}: ${problem}`]));
  return `Collected by "herald bundle" for a bug report about Herald.

  bundle.json   versions, time and origin, and the outcome of each part
  objects/      objects of the cluster or of the directory, one file a kind: "herald explain service NS/NAME -f objects" reads them
  records/      Herald's records in a directory
  tables/       output of "herald status", "peers", "routes" and "pools"
  explain/      output of "herald explain service" for each Service with a problem
  cluster/      Herald's pods, with the last lines of their logs and their metrics; Events
  live/         sessions, routes and history of Herald's running processes
  host/         kernel tables and settings of this host, if it is a node

Secrets are removed: the bundle has no Secret objects, and REMOVED replaces passwords, tokens, values of environment variables
and the like. It has addresses and names: check its content before you share it.

${missing.length === 0 ? 'Nothing is missing.' : `Missing or incomplete:\n${missing.join('\n')}`}
`;
}
