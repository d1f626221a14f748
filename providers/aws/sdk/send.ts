import type { Input, Operation, Output } from '../cloud/operations.ts';
import { limits } from './limits.ts';

/** A command of the SDK, as far as the type of its answer goes. */
export interface Command<Answer> {
  resolveMiddleware(...parts: never[]): (...args: never[]) => Promise<{ readonly output: Answer }>;
}

/** Sends one request at the pace that AWS allows. Rejects with AwsError alone. */
export type Send = <Answer extends object>(command: Command<Answer>) => Promise<Answer>;

/** Every operation of one service: what of ours becomes which requests, and what of their answers we read. */
export type OperationsOf<Service extends string> = {
  readonly [O in Operation as O extends `${Service}:${infer Name}` ? Name : never]: (input: Input<O>, send: Send) => Promise<Output<O>>;
};

/** There are more pages than an answer may have. */
class TooManyPagesError extends Error {
  readonly code = 'too-many-pages';

  constructor() {
    super(`the answer has more than ${limits.pages} pages`);
    this.name = 'TooManyPagesError';
  }
}

/** All items of an answer, page after page. `read` gets the marker of the page, undefined for the first one. */
export async function allPages<Item>(
  read: (marker: string | undefined) => Promise<{ readonly items: readonly Item[] | undefined; readonly next: string | undefined }>,
): Promise<Item[]> {
  const all: Item[] = [];
  let marker: string | undefined;
  for (let page = 0; page < limits.pages; page++) {
    const { items = [], next } = await read(marker);
    all.push(...items);
    // AWS ends with no marker, or with an empty one.
    if (next === undefined || next === '') return all;
    marker = next;
  }
  throw new TooManyPagesError();
}

/** One after the other: they would wait for the same bucket anyway. */
export async function inBatches<Value, Item>(
  values: readonly Value[],
  size: number,
  read: (batch: readonly Value[]) => Promise<readonly Item[]>,
): Promise<Item[]> {
  const all: Item[] = [];
  for (let start = 0; start < values.length; start += size) all.push(...(await read(values.slice(start, start + size))));
  return all;
}
