import type {
  AnySchema,
  BooleanSchema,
  ChoiceSchema,
  Grammar,
  IntegerSchema,
  ListSchema,
  MapSchema,
  ObjectSchema,
  ParsedSchema,
  Relation,
  TextSchema,
} from './schema.ts';
import type { Draft, FieldSchema, FieldSchemas, ObjectValue, Reads, Value } from './value.ts';
import { limits } from '../limits.ts';

/**
 * Functions that build schemas. Each takes the options that `schema.ts` defines for its kind and adds the type that the schema reads as.
 */

type Options<S> = Omit<S, 'kind'>;
type Always<O> = O extends { readonly required: string } | { readonly default: unknown } ? true : false;

export function text<const O extends Partial<Options<TextSchema>>>(options: O): TextSchema & Reads<string, Always<O>> {
  return { kind: 'text', maxLength: limits.text, ...options };
}

export function parsed<T, const O extends Omit<Options<ParsedSchema>, 'grammar'>>(
  grammar: Grammar<T>,
  options?: O,
): ParsedSchema & Reads<T, Always<O>> {
  return { kind: 'parsed', grammar, ...options };
}

export function integer<const O extends Options<IntegerSchema>>(options: O): IntegerSchema & Reads<number, Always<O>> {
  return { kind: 'integer', ...options };
}

export function boolean<const O extends Options<BooleanSchema>>(options: O): BooleanSchema & Reads<boolean, Always<O>> {
  return { kind: 'boolean', ...options };
}

export function choice<const T extends string | number, const O extends Omit<Options<ChoiceSchema>, 'values'>>(
  values: readonly T[],
  options?: O,
): ChoiceSchema & Reads<T, Always<O>> {
  return { kind: 'choice', values, ...options };
}

export function list<S extends ListSchema['items'] & FieldSchema>(
  items: S,
  options: Omit<Options<ListSchema>, 'items'>,
): ListSchema & { readonly items: S } & Reads<readonly Value<S>[], true> {
  return { kind: 'list', items, ...options };
}

export function map<S extends (TextSchema | AnySchema) & FieldSchema>(
  values: S,
  options: Omit<Options<MapSchema>, 'values'>,
): MapSchema & Reads<Readonly<Record<string, Value<S>>>, true> {
  return { kind: 'map', values, ...options };
}

type ObjectOptions<F> = Omit<Options<ObjectSchema>, 'fields' | 'relations' | 'required'> & {
  readonly relations?: readonly Relation<Draft<F>, keyof F & string>[];
};

/** An object schema together with its fields, so that other schemas can reuse them. */
export type ObjectOf<F, Present extends boolean> = ObjectSchema & { readonly fields: F } & Reads<ObjectValue<F>, Present>;

export function object<const F extends FieldSchemas, const R extends string | undefined = undefined>(
  fields: F,
  options?: ObjectOptions<F> & { readonly required?: R & string },
): ObjectOf<F, R extends string ? true : false> {
  return { kind: 'object', fields, ...options };
}

/** An object that another version may have written, and that keeps its unknown fields. */
export function openObject<const F extends FieldSchemas>(fields: F): ObjectOf<F, false> {
  return object(fields, { open: true });
}

export const anything: AnySchema & Reads<unknown, false> = { kind: 'any' };
