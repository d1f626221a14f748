const lineFeed = 0x0a;

/** Decodes the chunked transfer coding of HTTP/1.1 (RFC 9112 7.1) without copying. kube-apiserver sends no trailers. */
export class Chunked {
  isComplete = false;
  /** Octets of the chunk that are still to come, with its line end. */
  #left = 0;
  #size = '';
  #isLast = false;

  /** Calls back with the payload in these bytes. */
  push(bytes: Buffer, payload: (part: Buffer) => void): void {
    let at = 0;
    while (at < bytes.length && !this.isComplete) at = this.#left === 0 ? this.#readSize(bytes, at) : this.#readChunk(bytes, at, payload);
  }

  #readSize(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(lineFeed, at);
    this.#size += bytes.toString('latin1', at, end === -1 ? bytes.length : end + 1);
    if (end === -1) return bytes.length;
    const size = Number.parseInt(this.#size, 16);
    if (Number.isNaN(size)) throw new Error(`not the size of a chunk: ${this.#size}`);
    this.#size = '';
    this.#isLast = size === 0;
    this.#left = size + 2;
    return end + 1;
  }

  #readChunk(bytes: Buffer, at: number, payload: (part: Buffer) => void): number {
    const take = Math.min(this.#left, bytes.length - at);
    const ofPayload = Math.min(take, Math.max(0, this.#left - 2));
    if (ofPayload > 0) payload(bytes.subarray(at, at + ofPayload));
    this.#left -= take;
    this.isComplete = this.#isLast && this.#left === 0;
    return at + take;
  }
}
