import { KubeError } from '../../error.ts';

const headerOctets = 4;

/**
 * Cuts the octets of a watch into frames: four octets with a length, big-endian, and as many octets (k8s.io/apimachinery, pkg/util/framer).
 * Throws KubeError (malformed) for a frame that is empty or longer than the bound; the stream cannot be read any further then. Keeps at most
 * one unfinished frame.
 */
export class LengthFramer {
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  /** Octets that the header or the frame still lacks. */
  #missing = headerOctets;
  #isInFrame = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Yields the frames that end in this chunk. A frame may be a view of the chunk. */
  *push(chunk: Buffer): Generator<Buffer> {
    let rest = chunk;
    while (rest.length > 0) {
      const part = rest.subarray(0, this.#missing);
      rest = rest.subarray(part.length);
      this.#parts.push(part);
      this.#missing -= part.length;
      if (this.#missing > 0) return;
      const whole = this.#parts.length === 1 ? part : Buffer.concat(this.#parts);
      this.#parts = [];
      this.#isInFrame = !this.#isInFrame;
      this.#missing = this.#isInFrame ? this.#lengthIn(whole) : headerOctets;
      if (!this.#isInFrame) yield whole;
    }
  }

  /** Marks the end of the stream. Throws when its last frame is incomplete. */
  end(): void {
    if (this.#isInFrame || this.#parts.length > 0) throw new KubeError('malformed', 'the watch ended in the middle of a frame');
  }

  #lengthIn(header: Buffer): number {
    const length = header.readUInt32BE();
    if (length === 0) throw new KubeError('malformed', 'a frame of the watch is empty');
    if (length > this.#maxBytes) throw new KubeError('malformed', `a frame of the watch is longer than ${this.#maxBytes} bytes`);
    return length;
  }
}
