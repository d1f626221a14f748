import type { Parsed } from '../../net/parsed.ts';

/**
 * How an object of ours looks, as data. From one such description come the type (`value.ts`), the reader (`read.ts`), and in scripts/objects
 * the CRD, the JSON schema and the reference page. What is written here is therefore told everywhere, and cannot differ anywhere.
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
  | AnySchema
  | PlannedSchema;

interface Common {
  /** Sentences in Markdown; links are relative to docs/reference. */
  readonly description?: string;
  /** The field must be written. The text says what to write. */
  readonly required?: string;
  /** What the reference page says of the field when it is not written, where that is no constant. */
  readonly unset?: string;
  readonly rules?: readonly ValueRule[];
}

export interface TextSchema extends Common {
  readonly kind: 'text';
  readonly maxLength: number;
  readonly default?: string;
  readonly format?: 'date-time';
  /** No message may show it. */
  readonly secret?: true;
}

/** Text with a grammar of its own. An empty text is not written, as in the API server's own types. */
export interface ParsedSchema extends Common {
  readonly kind: 'parsed';
  readonly grammar: Grammar<unknown>;
}

export interface IntegerSchema extends Common {
  readonly kind: 'integer';
  readonly min: number;
  readonly max: number;
  readonly default?: number;
  /** 0 is the zero value of a field of MetalLB: not written. */
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

/** A list that is not written reads as an empty one. */
export interface ListSchema extends Common {
  readonly kind: 'list';
  readonly items: TextSchema | ParsedSchema | ChoiceSchema | ObjectSchema;
  readonly maxItems: number;
  /** Equal elements are refused. Texts in no order that matters: server-side apply may merge them one by one. */
  readonly unique?: true;
  /** The field by which elements are told apart, of which none is there twice: server-side apply merges by it. */
  readonly key?: string;
}

/** A map that is not written reads as an empty one. */
export interface MapSchema extends Common {
  readonly kind: 'map';
  readonly values: TextSchema | AnySchema;
  readonly maxEntries: number;
}

export interface ObjectSchema extends Common {
  readonly kind: 'object';
  readonly fields: Readonly<Record<string, Schema>>;
  readonly relations?: readonly Relation[];
  /** Fields of another version are kept and do no harm. */
  readonly open?: true;
  /** Defaults are what this version does where nothing is written: they are not stored, so that another version may do otherwise. */
  readonly impliedDefaults?: true;
  /** The word of the reference page for it, which then does not list its fields. */
  readonly called?: string;
}

/** Anything that JSON can say. */
export interface AnySchema extends Common {
  readonly kind: 'any';
}

/** A field of the plan: refused aloud in a manifest, and not in the CRD, where it would be a promise of its type. */
export interface PlannedSchema extends Common {
  readonly kind: 'planned';
}

/** What a text means, and how it is told from one that means nothing. */
export interface Grammar<T> {
  /** In the reference page: "CIDR". */
  readonly called: string;
  /** Several of them: "CIDRs". */
  readonly plural: string;
  readonly parse: (text: string) => Parsed<T>;
  readonly example: string;
  readonly maxLength: number;
  /** The same in CEL, as far as that can say it: the rest is refused by `parse` alone. Each must be able to stand any text. */
  readonly rules: readonly ValueRule[];
  /** Of a text that is often written as a number: what it is called, what is allowed, and the least that an example may show. */
  readonly unit?: { readonly suffix: string; readonly called: string; readonly allowed: string; readonly least: number };
}

/** A rule about one value: `self` in CEL. */
export interface ValueRule {
  readonly cel: string;
  /** Goes on from the name of the field: "is not an IP address". */
  readonly message: string;
  /** The message with the value at hand. */
  readonly says?: (value: never) => string;
  /** "" where the message says it all. */
  readonly fix: string;
  /** The same as `cel`. Absent in a grammar, whose `parse` says it. */
  readonly holds?: (value: never) => boolean;
  /** A value that breaks this rule. A test gives it to the API server and to the reader. */
  readonly broken: unknown;
}

/** A rule about several fields of an object, `self` in CEL. */
export interface Relation<Draft = never, Name extends string = string> {
  /** The field that is reported. */
  readonly at: Name;
  readonly message: string;
  /** The message with the values at hand. */
  readonly says?: (fields: Draft) => string;
  readonly fix: string;
  readonly cel: string;
  /**
   * The same as `cel`. A field that is not written, or cannot be read, is undefined; `written` tells the two apart. A rule holds where it
   * cannot be told: what cannot be read has a problem of its own.
   */
  readonly holds: (fields: Draft, written: (name: Name) => boolean) => boolean;
  /** What to lay over a valid object to break this rule; undefined takes a field away. */
  readonly broken: Readonly<Record<string, unknown>>;
}
