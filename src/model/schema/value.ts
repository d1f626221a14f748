import type { Schema } from './schema.ts';

/**
 * Records the type that a schema reads as, for the compiler only; the field does not exist at run time. `Always`: the value is present even
 * when nothing is written.
 */
export interface Reads<T, Always extends boolean> {
  readonly '~reads'?: readonly [T, Always];
}

export type FieldSchema = Schema & Reads<unknown, boolean>;
export type FieldSchemas = Readonly<Record<string, FieldSchema>>;

/** The type that a schema reads as: `Value<typeof spec>`. */
export type Value<S> = S extends Reads<infer T, boolean> ? T : never;

export type ObjectValue<F> = Flat<{ readonly [K in NamesOf<F, true>]: Value<F[K]> } & { readonly [K in NamesOf<F, false>]?: Value<F[K]> }>;

/** An object while it is being read: a field is undefined when it is not set or not readable. */
export type Draft<F> = { readonly [K in keyof F]: DraftOf<F[K]> | undefined };

type DraftOf<S> = S extends { readonly items: { readonly fields: infer F } }
  ? readonly Draft<F>[]
  : S extends { readonly fields: infer F }
    ? Draft<F>
    : Value<S>;

type NamesOf<F, Always extends boolean> = {
  [K in keyof F]: F[K] extends Reads<infer T, infer A> ? ([T] extends [never] ? never : [A] extends [Always] ? K : never) : never;
}[keyof F];

type Flat<T> = { [K in keyof T]: T[K] };
