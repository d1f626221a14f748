import { KubeError } from '../../error.ts';

const newline = 0x0a;

/**
 * Cuts a byte stream into lines, such as a watch with one JSON document a line. Throws KubeError (malformed) for a line longer than the
 * bound; the stream cannot be read any further then. Keeps at most one unfinished line.
 */
export class LineFramer {
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Yields the lines that end in this chunk, without empty ones. */
  *push(chunk: Buffer): Generator<string> {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      const line = this.#completeLine(chunk.subarray(start, end));
      start = end + 1;
      if (line !== '') yield line;
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start));
  }

  /** Marks the end of the stream. Throws when its last line is incomplete. */
  end(): void {
    if (this.#length > 0) throw new KubeError('malformed', 'the watch ended in the middle of a line');
  }

  #completeLine(last: Buffer): string {
    this.#keep(last);
    const [only] = this.#parts;
    const line = this.#parts.length === 1 && only !== undefined ? only.toString('utf8') : Buffer.concat(this.#parts).toString('utf8');
    this.#parts = [];
    this.#length = 0;
    return line;
  }

  #keep(part: Buffer): void {
    this.#length += part.length;
    if (this.#length > this.#maxBytes) throw new KubeError('malformed', `a line of the stream is longer than ${this.#maxBytes} bytes`);
    this.#parts.push(part);
  }
}
