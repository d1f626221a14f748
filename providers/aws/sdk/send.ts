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

/** An answer with items in the field `Name`. ELB has markers of the next page, EC2 and ACM have tokens. */
export type Page<Name extends string> = { readonly [N in Name]?: readonly unknown[] | undefined } & {
  readonly NextMarker?: string | undefined;
  readonly NextToken?: string | undefined;
};
export type ItemOf<List> = List extends readonly (infer Item)[] ? Item : never;

/** Reads the items of all pages of an answer. `read` gets the marker of the page, undefined for the first one. */
export async function allPages<Name extends string, Answer extends Page<Name>>(
  name: Name,
  read: (marker: string | undefined) => Promise<Answer>,
): Promise<ItemOf<Answer[Name]>[]> {
  const all: unknown[] = [];
  let marker: string | undefined;
  for (let page = 0; page < limits.pages; page++) {
    const answer: Answer = await read(marker);
    all.push(...(answer[name] ?? []));
    marker = answer.NextMarker ?? answer.NextToken;
    // AWS marks the last page with no marker or an empty one.
    if (marker === undefined || marker === '') return all as ItemOf<Answer[Name]>[];
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
