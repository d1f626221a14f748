import type { Metadata } from '../objects/metadata.ts';
import { FieldReader } from '../parse/fields.ts';
import { readMetadata } from '../parse/metadata.ts';
import type { Findings } from '../parse/problem.ts';
import type { ParseOptions, ReadResult } from '../parse/result.ts';
import type { ObjectOf } from './fields.ts';
import { completed, readFields } from './read.ts';
import type { ObjectSchema, ValueRule } from './schema.ts';
import type { Draft, ObjectValue } from './value.ts';

/** A kind of ours: what everything that is written about it is made of. */
export interface KindDefinition<K extends string = string, O = unknown> {
  readonly kind: K;
  readonly plural: string;
  /** Begin with "h", so that they are nobody else's: MetalLB may be in the same cluster. */
  readonly shortNames: readonly string[];
  /** Sentences in Markdown: what the kind is for. */
  readonly description: string;
  /** Written by people. Absent: all of it is status. */
  readonly spec?: ObjectSchema;
  /** Written by Herald. */
  readonly status: ObjectSchema;
  /** About metadata.name. */
  readonly nameRule?: ValueRule;
  readonly columns: readonly Column[];
  /** A valid spec, which tests bend. */
  readonly example: object;
  readonly read: (fields: FieldReader, options: ParseOptions) => ReadResult<O>;
}

/** What kubectl get shows. */
export interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'boolean' | 'date';
  readonly path: string;
  readonly description?: string;
  /** Only with -o wide. */
  readonly wide?: true;
}

/** What is the same in every reading of an object. */
export interface ReadContext {
  /** There is no API server, and nobody else. */
  readonly standalone: boolean;
}

interface KindOptions<K extends string, F, Rest> extends Omit<KindDefinition<K>, 'read' | 'spec'> {
  /** The part of the object that is read: `spec`, or the status of a kind that people do not write. */
  readonly spec?: ObjectOf<F, boolean>;
  readonly reads?: ObjectOf<F, boolean>;
  /** What a schema cannot say. CEL cannot say it either, or it would be a relation. */
  readonly check?: (draft: Draft<F>, fields: FieldReader) => void;
  /** The rest of the object that decisions read. */
  readonly object: (value: ObjectValue<F>, context: ReadContext) => Rest;
}

type ObjectRead<K, Rest> = { readonly kind: K; readonly metadata: Metadata } & Rest;

export function defineKind<const K extends string, F, Rest>(options: KindOptions<K, F, Rest>): KindDefinition<K, ObjectRead<K, Rest>> {
  const { check, object, reads, ...definition } = options;
  const schema = options.spec ?? reads;
  const part = options.spec === undefined ? 'status' : 'spec';
  const read = (fields: FieldReader, parse: ParseOptions): ReadResult<ObjectRead<K, Rest>> => {
    const metadata = readMetadata(fields, options.kind, 'cluster', parse);
    const { nameRule } = options;
    if (metadata !== undefined && nameRule?.holds?.(metadata.name as never) === false)
      fields.problem(['metadata', 'name'], nameRule.says?.(metadata.name as never) ?? nameRule.message, nameRule.fix);
    fields.raw('status');
    if (schema === undefined) return {};
    const content = fields.object(part);
    const draft = readFields(schema, content);
    check?.(draft, content);
    if (metadata === undefined || fields.unusable) return {};
    const rest = object(completed(draft), { standalone: parse.resourceVersion !== undefined });
    return { object: { kind: options.kind, metadata, ...rest } };
  };
  return { ...definition, read };
}

/** The objects of a kind: `ObjectOfKind<typeof ipAddressPool>`. */
export type ObjectOfKind<D> = D extends KindDefinition<string, infer O> ? { readonly [N in keyof O]: O[N] } : never;

/** What a schema reads as where nothing is written. */
export function defaultsOf<F>(schema: ObjectOf<F, boolean>): ObjectValue<F> {
  const findings: Findings = { problems: [], warnings: [], unusable: false };
  return completed(readFields(schema, new FieldReader({}, findings, { unknown: 'ignored' })));
}
