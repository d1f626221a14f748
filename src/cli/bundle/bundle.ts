import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Clock } from '../../system/clock.ts';
import { limits } from '../limits.ts';
import type { Redaction } from './redaction.ts';
import { tar } from '../../lang/tar.ts';

/** What became of a part of a bundle. */
interface PartReport {
  readonly part: string;
  /** Why it is not there, or not all of it. */
  readonly problem?: string;
}

interface BundleComponents {
  readonly clock: Clock;
  readonly redaction: Redaction;
  /** A line about how far it is. */
  readonly progress: (line: string) => void;
}

/** Files on their way into an archive: without secrets, and never more than there is room for. What fails is written down, and the rest goes on. */
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

  /** Collects a part. Answers with what it found, and with undefined where it failed: that is in the bundle then. */
  async collect<T>(part: string, collect: () => Promise<T>): Promise<T | undefined> {
    const { progress } = this.#components;
    progress(`${part} ...`);
    try {
      const found = await collect();
      this.#reports.push({ part });
      return found;
    } catch (error) {
      this.failed(part, error);
      return undefined;
    }
  }

  failed(part: string, error: unknown): void {
    // Errors quote what they could not read.
    const problem = this.redaction.text(error instanceof Error ? error.message : String(error));
    this.#components.progress(`${part}: ${problem}`);
    this.#reports.push({ part, problem });
  }

  /** A file of text. One that is too long is cut at its beginning, as the end of a log is what counts. */
  text(path: string, text: string): void {
    const clean = this.redaction.text(text);
    const content = Buffer.from(clean.endsWith('\n') || clean === '' ? clean : `${clean}\n`);
    const tooLong = content.length > limits.bundleFileBytes;
    this.#add(path, tooLong ? content.subarray(content.length - limits.bundleFileBytes) : content);
    if (tooLong) this.failed(path, new Error(`its first ${content.length - limits.bundleFileBytes} octets are left out`));
  }

  /** A value as JSON, its secrets removed field by field. */
  json(path: string, value: unknown): void {
    this.#whole(path, `${JSON.stringify(this.redaction.object(value), undefined, 2)}\n`);
  }

  /** Objects as `kubectl get -o json` has them, which `herald explain -f` reads. One that does not fit any more is left out with those behind it. */
  objects(path: string, objects: readonly unknown[]): void {
    const items: string[] = [];
    let bytes = 0;
    for (const object of objects) {
      const clean = this.redaction.object(object);
      if (clean === undefined) continue;
      const text = JSON.stringify(clean);
      bytes += Buffer.byteLength(text);
      if (bytes > limits.bundleFileBytes) {
        this.failed(path, new Error(`${objects.length - items.length} of ${objects.length} objects are left out: they do not fit`));
        break;
      }
      items.push(text);
    }
    if (items.length > 0) this.#whole(path, `{"apiVersion": "v1", "kind": "List", "items": [\n${items.join(',\n')}\n]}\n`);
  }

  /** A list that a process tells, an item a line. Of one for which there is no room the first items are kept, or the last. */
  list(path: string, about: object, items: readonly unknown[], keep: 'first' | 'last'): void {
    const beginning = `${JSON.stringify(this.redaction.object(about)).slice(0, -1)}, "items": [\n`;
    const end = '\n]}\n';
    // Half of what is left: however many processes there are, each tells something.
    const room = Math.min(limits.bundleFileBytes, Math.floor((limits.bundleListsBytes - this.#listBytes) / 2));
    let bytes = Buffer.byteLength(beginning) + end.length;
    const lines: string[] = [];
    for (const item of keep === 'first' ? items : items.toReversed()) {
      const line = JSON.stringify(this.redaction.object(item) ?? null);
      bytes += Buffer.byteLength(line) + 2;
      if (bytes > room) {
        const place = keep === 'first' ? 'last' : 'first';
        this.failed(path, new Error(`the ${place} ${items.length - lines.length} of ${items.length} items are left out: they do not fit`));
        break;
      }
      lines.push(line);
    }
    const text = `${beginning}${(keep === 'first' ? lines : lines.toReversed()).join(',\n')}${end}`;
    this.#listBytes += Buffer.byteLength(text);
    this.#whole(path, text);
  }

  /** The archive, gzipped; all its files are below one directory. */
  async archive(directory: string, about: object): Promise<Buffer> {
    const summary = { ...about, parts: this.#reports };
    const all = new Map([['README.txt', Buffer.from(readme(this.#reports))], ...this.#files]);
    all.set('bundle.json', Buffer.from(`${JSON.stringify(this.redaction.object(summary), undefined, 2)}\n`));
    const entries = [...all].map(([path, content]) => ({ path: `${directory}/${path}`, content, mode: 0o600 }));
    return promisify(gzip)(tar(entries, this.#components.clock.date()));
  }

  #whole(path: string, text: string): void {
    const content = Buffer.from(text);
    if (content.length > limits.bundleFileBytes) this.failed(path, new Error(`left out: it has ${content.length} octets`));
    else this.#add(path, content);
  }

  #add(path: string, content: Buffer): void {
    if (this.#bytes + content.length > limits.bundleBytes) {
      this.failed(path, new Error(`left out: the bundle would have more than ${limits.bundleBytes} octets`));
      return;
    }
    this.#bytes += content.length;
    this.#files.set(path, content);
  }
}

function readme(reports: readonly PartReport[]): string {
  const missing = reports.flatMap(({ part, problem }) => (problem === undefined ? [] : [`  ${part}: ${problem}`]));
  return `What "herald bundle" has collected for a report of a problem with Herald.

  bundle.json   versions, when and where from, and what became of each part
  objects/      objects of the cluster or of the directory, a kind a file: "herald explain service NS/NAME -f objects" answers from them
  records/      of a directory: what Herald has recorded there
  tables/       what "herald status", "peers", "routes" and "pools" say
  explain/      what "herald explain service" says of each Service with a problem
  cluster/      Herald's pods, with the ends of their logs and their metrics; Events
  live/         what running processes of Herald tell of themselves
  host/         the kernel's tables of this host, where it is a node

Secrets are removed: Secret objects are not in it, and REMOVED stands in place of passwords, tokens, values of environment variables
and the like. Addresses and names are in it: look before you give it away.

${missing.length === 0 ? 'Nothing is missing.' : `Not there, or not all of it:\n${missing.join('\n')}`}
`;
}
