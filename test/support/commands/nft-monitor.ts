import type { MonitorEvents } from '../../../src/dataplane/nftables/executor.ts';
import { revisionSet, tableName } from '../../../src/dataplane/ruleset/layout.ts';

/** Reads the output of `nft monitor`: the changes of a transaction, then a line "# new generation". */
export class TransactionReader {
  readonly #events: Pick<MonitorEvents, 'onChange' | 'onLoss'>;
  #revisions: number[] = [];
  #first: string | undefined;

  constructor(events: Pick<MonitorEvents, 'onChange' | 'onLoss'>) {
    this.#events = events;
  }

  read(line: string): void {
    if (line.startsWith('# new generation')) {
      if (this.#first !== undefined) this.#events.onChange({ revisions: this.#revisions, what: this.#first });
      this.#revisions = [];
      this.#first = undefined;
    } else if (line.startsWith('# ERROR')) {
      // The socket overflowed.
      this.#events.onLoss(line);
    } else if (ourTable.test(line)) {
      const revision = ourRevision.exec(line)?.[1];
      if (revision !== undefined) this.#revisions.push(Number(revision));
      this.#first ??= line.slice(0, 200);
    }
  }
}

const ourTable = new RegExp(`^(?:add|delete|replace|insert|destroy|reset) \\w+ ip6? ${tableName}(?: |$)`);
const ourRevision = new RegExp(`^add element ip ${tableName} ${revisionSet} \\{ (0x[0-9a-f]+|[0-9]+) `);
