import { DataplaneError } from '../../../../src/dataplane/dataplane.ts';
import type { Monitor, MonitorEvents, NftExecutor, Transaction } from '../../../../src/dataplane/nftables/executor.ts';
import { readListing } from '../../../support/commands/nft-listing.ts';
import { type TableListing } from '../../../../src/dataplane/nftables/executor.ts';
import { TransactionReader } from '../../../support/commands/nft-monitor.ts';
import { removalScript, transactionScript } from '../../../support/commands/nft-script.ts';
import type { Skeleton } from '../../../../src/dataplane/ruleset/skeleton.ts';

interface FakeTable {
  readonly chains: Map<string, number>;
  readonly sets: Map<string, { readonly map: boolean; readonly elements: Map<string, string | undefined> }>;
}

/**
 * The part of nf_tables that our scripts use, with its refusals: an existing element cannot be added with another value, a missing one
 * cannot be deleted.
 */
export class FakeKernel implements NftExecutor {
  tables = new Map<string, FakeTable>();
  readonly transactions: (readonly string[])[] = [];
  /** Returns an error to throw instead of accepting the transaction. */
  fault: (lines: readonly string[]) => DataplaneError | undefined = () => undefined;
  onLine: (line: string) => void = () => undefined;
  endMonitor: (why: string) => void = () => undefined;
  monitors = 0;
  closed = false;
  subscribed = false;

  run(transaction: Transaction): Promise<void> {
    return this.#run(transactionScript(transaction));
  }

  removeTables(): Promise<void> {
    return this.#run(removalScript());
  }

  async #run(lines: readonly string[]): Promise<void> {
    await Promise.resolve();
    const error = this.fault(lines);
    if (error !== undefined) throw error;
    const next = structuredClone(this.tables);
    for (const line of lines) step(next, line);
    this.tables = next;
    this.transactions.push(lines);
  }

  close(): void {
    this.closed = true;
  }

  /** Makes a change as another program, and sends the line that the monitor prints for it. */
  foreign(change: (tables: Map<string, FakeTable>) => void, line: string): void {
    change(this.tables);
    this.onLine(line);
    this.onLine('# new generation 7 by process 1 (nft)');
  }

  readTable(skeleton: Skeleton): Promise<TableListing | undefined> {
    const table = this.tables.get(skeleton.family === 4 ? 'ip' : 'ip6');
    if (table === undefined) return Promise.resolve(undefined);
    const objects: object[] = [{ metainfo: { json_schema_version: 1 } }];
    for (const [name, { map, elements }] of table.sets) {
      const elem = [...elements].map(([key, value]) => (map ? [json(key), json(value ?? '')] : json(key)));
      objects.push({ [map ? 'map' : 'set']: { name, ...(elem.length === 0 ? {} : { elem }) } });
    }
    for (const [name, rules] of table.chains) {
      objects.push({ chain: { name } });
      for (let i = 0; i < rules; i++) objects.push({ rule: { chain: name } });
    }
    return Promise.resolve(readListing({ nftables: objects }, skeleton));
  }

  monitor(events: MonitorEvents): Monitor {
    this.monitors++;
    const reader = new TransactionReader(events);
    this.onLine = (line) => reader.read(line);
    this.endMonitor = events.onEnd;
    return { subscribed: this.subscribed, stop: () => Promise.resolve() };
  }

  /** Returns every changing element as "family set key : value", sorted. */
  contents(): string[] {
    const constant = new Set(['kinds', 'nodeport_kinds', 'draws', 'remainders', 'timeouts', 'revision']);
    return [...this.tables]
      .flatMap(([family, table]) =>
        [...table.sets].flatMap(([set, { elements }]) =>
          constant.has(set)
            ? []
            : [...elements].map(([key, value]) => `${family} ${set} ${key}${value === undefined ? '' : ` : ${value}`}`),
        ),
      )
      .sort();
  }
}

function step(tables: Map<string, FakeTable>, line: string): void {
  const [verb = '', object = '', family = '', , name = '', ...rest] = line.split(' ');
  const refuse = (why: string): never => {
    throw new DataplaneError('failed', `${why}: ${line}`);
  };
  if (object === 'table') {
    if (verb === 'delete') tables.delete(family);
    else if (!tables.has(family)) tables.set(family, { chains: new Map(), sets: new Map() });
    return;
  }
  const table = tables.get(family) ?? refuse('No such file or directory');
  switch (object) {
    case 'chain':
      if (verb === 'delete') table.chains.delete(name);
      else table.chains.set(name, 0);
      return;
    case 'rule':
      table.chains.set(name, (table.chains.get(name) ?? refuse('No such file or directory')) + 1);
      return;
    case 'set':
    case 'map':
      table.sets.set(name, { map: object === 'map', elements: new Map() });
      return;
    default:
  }
  const set = table.sets.get(name) ?? refuse('No such file or directory');
  for (const element of rest.slice(1, -1).join(' ').split(' , ')) {
    const [key = '', value] = element.split(' : ');
    if (verb === 'delete' && !set.elements.delete(key)) refuse('No such file or directory');
    if (verb === 'add') {
      if (set.elements.has(key) && set.elements.get(key) !== value) refuse('File exists');
      set.elements.set(key, value);
    }
  }
}

/** Converts text to the JSON of nft 1.0.6: ports are numbers, 0:0 is a word, prefixes are objects. */
function json(text: string): unknown {
  const parts = text.split(' . ').map((part): unknown => {
    if (part === '0:0') return 'none';
    if (/^(0x[0-9a-f]+|\d+)$/.test(part)) return Number(part);
    const [addr, len] = part.split('/');
    return len === undefined ? part : { prefix: { addr, len: Number(len) } };
  });
  return parts.length === 1 ? parts[0] : { concat: parts };
}
