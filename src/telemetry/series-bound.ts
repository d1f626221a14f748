/** How many series a metric may have: whoever could make up labels must not be able to fill the memory. */
export class SeriesBound {
  readonly #most: number;
  readonly #seen = new Set<string>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Whether the series is there already, or there is room for it. */
  admits(labels: Readonly<Record<string, string>>): boolean {
    const values = Object.values(labels);
    const [only = ''] = values;
    const series = values.length < 2 ? only : values.join('\u0000');
    if (this.#seen.has(series)) return true;
    if (this.#seen.size >= this.#most) return false;
    this.#seen.add(series);
    return true;
  }
}
