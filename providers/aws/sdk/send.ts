import type { Input, Operation, Output } from '../cloud/operations.ts';
import { limits } from './limits.ts';

/** A command of the SDK, reduced to the type of its answer. */
export interface Command<Answer> {
  resolveMiddleware(...parts: never[]): (...args: never[]) => Promise<{ readonly output: Answer }>;
}

/** Sends one request at the rate that AWS allows. Rejects only with AwsError. */
export type Send = <Answer extends object>(command: Command<Answer>) => Promise<Answer>;

/** The operations of one service: each converts our input to requests, and their answers to our output. */
export type OperationsOf<Service extends string> = {
  readonly [O in Operation as O extends `${Service}:${infer Name}` ? Name : never]: (input: Input<O>, send: Send) => Promise<Output<O>>;
};

/** An answer has more pages than allowed. */
class TooManyPagesError extends Error {
  readonly code = 'too-many-pages';

  constructor() {
    super(`the answer has more than ${limits.pages} pages`);
    this.name = 'TooManyPagesError';
  }
}

/** Reads all pages of an answer. `read` gets the marker of the page, undefined for the first one. */
export async function allPages<Item>(
  read: (marker: string | undefined) => Promise<{ readonly items: readonly Item[] | undefined; readonly next: string | undefined }>,
): Promise<Item[]> {
  const all: Item[] = [];
  let marker: string | undefined;
  for (let page = 0; page < limits.pages; page++) {
    const { items = [], next } = await read(marker);
    all.push(...items);
    // AWS marks the last page with no marker or an empty one.
    if (next === undefined || next === '') return all;
    marker = next;
  }
  throw new TooManyPagesError();
}

/** Batches are sent one after the other, because all would wait for the same bucket. */
export async function inBatches<Value, Item>(
  values: readonly Value[],
  size: number,
  read: (batch: readonly Value[]) => Promise<readonly Item[]>,
): Promise<Item[]> {
  const all: Item[] = [];
  for (let start = 0; start < values.length; start += size) all.push(...(await read(values.slice(start, start + size))));
  return all;
}
