import { isRecord } from '../../../../lang/is-record.ts';
import type { Remark } from '../../../../model/metallb/import.ts';
import { heraldApiVersion, parseObject } from '../../../../model/parse.ts';
import type { Fields } from './reading/fields.ts';
import type { SourceKind } from './reading/source-kind.ts';

/** A manifest of Herald. */
export type Manifest = Readonly<Record<string, unknown>> & { readonly kind: string; readonly metadata: Readonly<Record<string, unknown>> };

/** How messages name a configuration without kind and path. */
export const unnamed = 'configuration';

/** One document of the input, or the configuration that it contains. */
export interface SourceDocument {
  readonly raw: Readonly<Record<string, unknown>>;
  /** How messages name it: "CiliumLoadBalancerIPPool/main", "HelmRelease/metallb: spec.values". */
  readonly object: string;
  /** File and line. Absent: it came from an API server. */
  readonly where?: string;
}

/** The result of importing one document. */
export interface ImportedDocument {
  readonly object: string;
  readonly where?: string;
  /** exact: nothing is lost. differs: something is. refused: nothing is written for a part of it. */
  readonly verdict: 'exact' | 'differs' | 'refused';
  readonly remarks: readonly Remark[];
  readonly manifests: readonly Manifest[];
  /** Options that `herald agent` needs, such as "--healthz-bind-address=none". */
  readonly agentOptions?: readonly string[];
}

/** A program that people come from. */
export interface Tool {
  readonly name: string;
  /** Every kind that it reads, for the reference page. */
  readonly kinds: readonly SourceKind[];
  /** True for a document that configures the program. Pure. */
  readonly recognises: (document: SourceDocument) => boolean;
  /** Translates the documents that it recognises, all at once because they refer to each other. Pure. */
  readonly translate: (documents: readonly SourceDocument[], input: Input) => ImportedDocument[];
}

/** What a translator may look at besides its own documents. */
export interface Input {
  readonly all: readonly SourceDocument[];
  /** Namespace of the program, where the user gave it. */
  readonly namespace: string | undefined;
  /** Documents of the program that are templates, and are not translated. */
  readonly templates: readonly SourceDocument[];
}

/** Makes a manifest of Herald, without the fields that are undefined. `name` may be any text. */
export function manifest(kind: string, name: string, spec: Readonly<Record<string, unknown>>): Manifest {
  const written = Object.entries(spec).filter(([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0));
  return { apiVersion: heraldApiVersion, kind, metadata: { name: objectName(name) }, spec: Object.fromEntries(written) };
}

/** Makes the name of an object of any text: lower case letters, digits, "-" and ".". */
export function objectName(text: string): string {
  const name = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9.-]+/g, '-')
    .replaceAll(/\.{2,}|-?\.-?/g, '.')
    .slice(0, 200)
    .replaceAll(/^[.-]+|[.-]+$/g, '');
  return name === '' ? 'unnamed' : name;
}

/** Judges a document by its remarks. A manifest that Herald would refuse is left out, with the reason. */
export function imported(document: SourceDocument, fields: Fields, manifests: readonly Manifest[]): ImportedDocument {
  return judged(document, fields.remarks(), manifests);
}

export function judged(document: SourceDocument, remarks: readonly Remark[], manifests: readonly Manifest[]): ImportedDocument {
  const checked = manifests.map((one) => ({ one, problems: parseObject(one).problems }));
  const found: readonly Remark[] = [
    ...remarks,
    ...checked.flatMap(({ one, problems }) =>
      problems.map(({ field, message, fix }): Remark => ({
        level: 'refused',
        field: `${one.kind} ${nameOf(one)} ${field}`,
        message: `${message}: no ${one.kind} is written`,
        fix,
      })),
    ),
  ];
  const verdict = (['refused', 'differs'] as const).find((level) => found.some((remark) => remark.level === level)) ?? 'exact';
  const { object, where } = document;
  const usable = checked.filter(({ problems }) => problems.length === 0).map(({ one }) => one);
  return { object, verdict, remarks: found, manifests: usable, ...(where === undefined ? {} : { where }) };
}

export const nameOf = ({ metadata }: Manifest): string => String(metadata['name']);

/** Returns kind, name, labels, annotations and spec of a Kubernetes object, "" and {} where there are none. */
export function partsOf(raw: Readonly<Record<string, unknown>>): {
  readonly kind: string;
  readonly group: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, unknown>>;
  readonly annotations: Readonly<Record<string, unknown>>;
  readonly spec: Readonly<Record<string, unknown>>;
} {
  const record = (value: unknown): Readonly<Record<string, unknown>> => (isRecord(value) ? value : {});
  const metadata = record(raw['metadata']);
  const apiVersion = typeof raw['apiVersion'] === 'string' ? raw['apiVersion'] : '';
  return {
    kind: typeof raw['kind'] === 'string' ? raw['kind'] : '',
    group: apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '',
    name: typeof metadata['name'] === 'string' ? metadata['name'] : '',
    labels: record(metadata['labels']),
    annotations: record(metadata['annotations']),
    spec: record(raw['spec']),
  };
}
