/** A row of a bench that could not be measured. */
export interface FailedRow {
  readonly row: string;
  readonly error: string;
}

/** Measures the rows of a bench. A row that fails is noted with its error, and the others are measured nevertheless. */
export class Attempts {
  readonly failed: FailedRow[] = [];
  readonly #note: (text: string) => void;

  constructor(note: (text: string) => void) {
    this.#note = note;
  }

  /** Resolves to undefined when `measure` fails. */
  async row<T>(row: string, measure: () => T | Promise<T>): Promise<T | undefined> {
    try {
      return await measure();
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      this.failed.push({ row, error: text });
      this.#note(`${row}: not measured: ${text}`);
      return undefined;
    }
  }

  /** For people: a line for each row that failed. */
  lines(): readonly string[] {
    return this.failed.map(({ row, error }) => `Not measured: ${row}: ${error.split('\n')[0]}`);
  }

  /** The exit status of the bench: 1 when a row of Herald's own failed. A peer's row is listed only. */
  get status(): number {
    return this.failed.some(({ row }) => row.startsWith('Herald')) ? 1 : 0;
  }
}
