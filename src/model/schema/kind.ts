import { defined } from '../../lang/defined.ts';
import type { Metadata } from '../objects/metadata.ts';
import { FieldReader } from '../reading/fields.ts';
import { readMetadata } from '../reading/metadata.ts';
import type { Findings } from '../reading/problem.ts';
import type { ParseOptions, ReadResult } from '../reading/result.ts';
import type { ObjectOf } from './fields.ts';
import { completed, readFields } from './read.ts';
import type { ObjectSchema, ValueRule } from './schema.ts';
import type { Draft, ObjectValue } from './value.ts';

/** The definition of one of Herald's kinds. The CRD, the JSON schema, the reader and the reference page are generated from it. */
export interface KindDefinition<K extends string = string, O = unknown> {
  readonly kind: K;
  readonly plural: string;
  /** Short names begin with "h", so that they do not clash with MetalLB's in the same cluster. */
  readonly shortNames: readonly string[];
  /** Describes the purpose of the kind, in Markdown sentences. */
  readonly description: string;
  /** The part that people write. Absent: the kind has only a status. */
  readonly spec?: ObjectSchema;
  /** The part that Herald writes. */
  readonly status: ObjectSchema;
  /** A rule for metadata.name. */
  readonly nameRule?: ValueRule;
  readonly columns: readonly Column[];
  /** A valid spec. Tests modify it to break single rules. */
  readonly example: object;
  readonly read: (fields: FieldReader, options: ParseOptions) => ReadResult<O>;
}

/** A column that kubectl get shows. */
export interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'boolean' | 'date';
  readonly path: string;
  readonly description?: string;
  /** Shown only with -o wide. */
  readonly wide?: true;
}

/** Context that is the same for every object of one source. */
export interface ReadContext {
  /** The source is a directory: there is no API server and no other controller. */
  readonly standalone: boolean;
  /** metadata, as written. Absent: the settings are none of an object. */
  readonly metadata?: unknown;
  /** Of an object of a directory: the modification time of its file, in nanoseconds. */
  readonly version?: string;
}

interface KindOptions<K extends string, F, Rest> extends Omit<KindDefinition<K>, 'read' | 'spec'> {
  /** The part of the object that is read: `spec`, or the status of a kind that people do not write. */
  readonly spec?: ObjectOf<F, boolean>;
  readonly reads?: ObjectOf<F, boolean>;
  /** Checks rules that neither a schema nor CEL can express. A rule that CEL can express is a relation. */
  readonly check?: (draft: Draft<F>, fields: FieldReader) => void;
  /** Converts the value into the fields that decisions read. */
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
    const version = parse.resourceVersion;
    const rest = object(completed(draft), { standalone: version !== undefined, metadata: fields.raw('metadata'), ...defined({ version }) });
    return { object: { kind: options.kind, metadata, ...rest } };
  };
  return { ...definition, read };
}

/** The type of a kind's objects: `ObjectOfKind<typeof ipAddressPool>`. */
export type ObjectOfKind<D> = D extends KindDefinition<string, infer O> ? { readonly [N in keyof O]: O[N] } : never;

/** Returns the value of a schema when no field is set. */
export function defaultsOf<F>(schema: ObjectOf<F, boolean>): ObjectValue<F> {
  const findings: Findings = { problems: [], warnings: [], unusable: false };
  return completed(readFields(schema, new FieldReader({}, findings, { unknown: 'ignored' })));
}
