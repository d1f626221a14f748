import type { Parsed } from '../../net/parsed.ts';

/**
 * Describes an object of ours as data. The type (`value.ts`), the reader (`read.ts`), the CRD, the JSON schema and the reference page
 * (scripts/generate/objects) are derived from it, so that they cannot differ.
 */
export type Schema =
  | TextSchema
  | ParsedSchema
  | IntegerSchema
  | BooleanSchema
  | ChoiceSchema
  | ListSchema
  | MapSchema
  | ObjectSchema
  | AnySchema;

interface Common {
  /** Markdown sentences. Links are relative to docs/reference. */
  readonly description?: string;
  /** The field is required. The text says what to write. */
  readonly required?: string;
  /** The default as the reference page shows it, when it is not a constant. */
  readonly unset?: string;
  readonly rules?: readonly ValueRule[];
}

export interface TextSchema extends Common {
  readonly kind: 'text';
  readonly maxLength: number;
  readonly default?: string;
  readonly format?: 'date-time';
  /** The value must not appear in any message. */
  readonly secret?: true;
}

/** Text with its own grammar. An empty text counts as not set, as in the API server's types. */
export interface ParsedSchema extends Common {
  readonly kind: 'parsed';
  readonly grammar: Grammar<unknown>;
}

export interface IntegerSchema extends Common {
  readonly kind: 'integer';
  readonly min: number;
  readonly max: number;
  readonly default?: number;
  /** 0 counts as not set, as in MetalLB. */
  readonly zeroIsUnset?: true;
}

export interface BooleanSchema extends Common {
  readonly kind: 'boolean';
  readonly default?: boolean;
}

export interface ChoiceSchema extends Common {
  readonly kind: 'choice';
  readonly values: readonly (string | number)[];
  readonly default?: string | number;
}

/** A list. Reads as an empty list when not set. */
export interface ListSchema extends Common {
  readonly kind: 'list';
  readonly items: TextSchema | ParsedSchema | ChoiceSchema | ObjectSchema;
  readonly maxItems: number;
  /** Refuses equal elements. In a list of texts the order does not matter, and server-side apply may merge the elements one by one. */
  readonly unique?: true;
  /**
   * For a list of choices that was one choice before: a text may be written in place of the list, either one of the choices or this word, which
   * means the empty list.
   */
  readonly orText?: string;
  /** The field that identifies an element. Its values must be unique, and server-side apply merges by it. */
  readonly key?: string;
}

/** A map. Reads as an empty map when not set. */
export interface MapSchema extends Common {
  readonly kind: 'map';
  readonly values: TextSchema | AnySchema;
  readonly maxEntries: number;
}

export interface ObjectSchema extends Common {
  readonly kind: 'object';
  readonly fields: Readonly<Record<string, Schema>>;
  readonly relations?: readonly Relation[];
  /** Unknown fields, from another version, are kept and ignored. */
  readonly open?: true;
  /** Defaults are not stored in the object, so that another version can use other defaults. */
  readonly impliedDefaults?: true;
  /** The word that the reference page uses instead of listing the fields. */
  readonly called?: string;
}

/** Any JSON value. */
export interface AnySchema extends Common {
  readonly kind: 'any';
}

/** Defines how a text is parsed and validated. */
export interface Grammar<T> {
  /** Singular name on the reference page, such as "CIDR". */
  readonly called: string;
  /** Plural name, such as "CIDRs". */
  readonly plural: string;
  readonly parse: (text: string) => Parsed<T>;
  readonly example: string;
  readonly maxLength: number;
  /** The checks of `parse` that CEL can express. Only `parse` checks the rest. Each rule must evaluate without error for any text. */
  readonly rules: readonly ValueRule[];
  /** For a text that is often written as a number: its name, the allowed values, and the smallest value to show in an example. */
  readonly unit?: { readonly suffix: string; readonly called: string; readonly allowed: string; readonly least: number };
}

/** A rule about one value, which is `self` in CEL. */
export interface ValueRule {
  readonly cel: string;
  /** Continues after the name of the field: "is not an IP address". */
  readonly message: string;
  /** Returns the message with the actual value. Absent: `message` is used. */
  readonly says?: (value: never) => string;
  /** "" when the message needs no fix. */
  readonly fix: string;
  /** The same check as `cel`. Absent in a grammar, where `parse` checks it. */
  readonly holds?: (value: never) => boolean;
  /** A value that breaks this rule. Tests pass it to the API server and to the reader. */
  readonly broken: unknown;
}

/** A rule about several fields of an object, which is `self` in CEL. */
export interface Relation<Draft = never, Name extends string = string> {
  /** The field that the problem is reported on. */
  readonly at: Name;
  readonly message: string;
  /** Returns the message with the actual values. Absent: `message` is used. */
  readonly says?: (fields: Draft) => string;
  readonly fix: string;
  readonly cel: string;
  /**
   * The same check as `cel`. A field that is not set or not readable is undefined; `written` distinguishes the two. A rule holds when a
   * field that it needs is not readable, because that field has its own problem.
   */
  readonly holds: (fields: Draft, written: (name: Name) => boolean) => boolean;
  /** Fields to merge into a valid object to break this rule. undefined removes a field. */
  readonly broken: Readonly<Record<string, unknown>>;
}
