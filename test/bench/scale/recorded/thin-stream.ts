const newline = 0x0a;
/** Every event begins with `{"type":"` and the type. */
const typeAt = 9;
const bookmark = 0x42;
const error = 0x45;

/**
 * Reads the bytes of a watch without parsing its objects, which would cost more than the machine has for thousands of clients. Counts the
 * events, and keeps what a Reflector needs in order to go on: bookmarks, errors, and the version of the last event.
 */
export class ThinStream {
  events = 0;
  #unfinished: Buffer[] = [];
  #last: readonly Buffer[] | undefined;
  #isInitial: boolean;

  /** `isInitial`: the watch begins with all existing objects, and a bookmark ends them. */
  constructor(isInitial: boolean) {
    this.#isInitial = isInitial;
  }

  /** Takes bytes of the watch. Returns the lines that must be read at once. */
  push(chunk: Buffer): Buffer[] {
    const now: Buffer[] = [];
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      this.#unfinished.push(chunk.subarray(start, end + 1));
      start = end + 1;
      const line = this.#unfinished;
      this.#unfinished = [];
      const type = octetAt(line, typeAt);
      if (type !== bookmark && type !== error) {
        this.events++;
        this.#last = line;
        continue;
      }
      const whole = Buffer.concat(line);
      if (whole.includes('k8s.io/initial-events-end')) this.#isInitial = false;
      this.#last = undefined;
      now.push(whole);
    }
    if (start < chunk.length) this.#unfinished.push(chunk.subarray(start));
    return now;
  }

  /** Returns a bookmark with the version of the last event since the last call, in place of the events. */
  version(): Buffer | undefined {
    if (this.#isInitial || this.#last === undefined) return undefined;
    const version = /"resourceVersion":"(\d+)"/.exec(Buffer.concat(this.#last).toString('latin1'))?.[1];
    this.#last = undefined;
    if (version === undefined) return undefined;
    return Buffer.from(`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"${version}"}}}\n`);
  }
}

function octetAt(parts: readonly Buffer[], offset: number): number | undefined {
  let left = offset;
  for (const part of parts) {
    if (left < part.length) return part[left];
    left -= part.length;
  }
  return undefined;
}
