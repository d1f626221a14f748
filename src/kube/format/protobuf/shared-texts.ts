/** Texts longer than this are not shared: the comparison would cost as much as a copy. */
const longest = 40;

/**
 * Returns the same string for the same octets, so that a text that is in many objects is made once. Each text has one place, by its hash;
 * another text with the same place replaces it, which only costs a copy.
 */
export class SharedTexts {
  readonly #texts: (string | undefined)[];
  readonly #mask: number;

  /** `places` is a power of two. */
  constructor(places: number) {
    this.#texts = Array.from({ length: places }, () => undefined);
    this.#mask = places - 1;
  }

  /** Reads octets `start` to `end` as UTF-8. */
  text(octets: Buffer, start: number, end: number): string {
    const length = end - start;
    if (length === 0) return '';
    if (length > longest) return octets.toString('utf8', start, end);
    // FNV-1a.
    let hash = 0x811c_9dc5;
    for (let at = start; at < end; at++) hash = Math.imul(hash ^ (octets[at] ?? 0), 0x0100_0193);
    const place = (hash ^ (hash >>> 15)) & this.#mask;
    const known = this.#texts[place];
    if (known !== undefined && isAscii(known, octets, start, length)) return known;
    return (this.#texts[place] = octets.toString('utf8', start, end));
  }
}

/** True when the text has these octets. False for any text outside ASCII, which is therefore never shared. */
function isAscii(text: string, octets: Buffer, start: number, length: number): boolean {
  if (text.length !== length) return false;
  for (let at = 0; at < length; at++) {
    const octet = octets[start + at] ?? 0;
    if (octet > 0x7f || text.charCodeAt(at) !== octet) return false;
  }
  return true;
}
