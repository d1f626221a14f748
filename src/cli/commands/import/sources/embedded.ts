import { isRecord } from '../../../../lang/is-record.ts';
import { decodeObjects } from '../../../../sources/directory/raw-objects.ts';
import { unnamed, type SourceDocument } from '../tools/tool.ts';

type Values = Readonly<Record<string, unknown>>;

/** A decoded document, before it is known what it is. */
export interface RawDocument {
  readonly raw: unknown;
  readonly where?: string;
}

/** Umbrella charts have the values of a chart below the name of the chart. */
const depth = 3;

/**
 * Returns the document, and the configurations inside of it: the files of a ConfigMap, and the Helm values of a HelmRelease of Flux, an
 * Application of Argo CD, a HelmChart of k3s or a values file.
 */
export function withEmbedded({ raw, where }: RawDocument): SourceDocument[] {
  if (!isRecord(raw)) return [];
  const at = where === undefined ? {} : { where };
  const object = nameOf(raw);
  const own: SourceDocument = { raw, object: object || unnamed, ...at };
  const inside = contained(raw).flatMap(({ path, value }) =>
    settingsIn(value, path, depth).map((one): SourceDocument => ({ raw: one.value, object: joined(object, one.path), ...at })),
  );
  // Without a kind, the document is a file of settings itself.
  return raw['kind'] === undefined ? inside : [own, ...inside];
}

const joined = (object: string, path: string): string => [object, path].filter((part) => part !== '').join(' ') || unnamed;

interface Found {
  readonly path: string;
  readonly value: Values;
}

/** Returns the values inside of a document, decoded where they are text. */
export function contained(raw: Values): Found[] {
  const { kind } = raw;
  const spec = isRecord(raw['spec']) ? raw['spec'] : {};
  switch (kind) {
    case 'ConfigMap':
    case 'Secret': {
      const data = { ...texts(raw['data'], 'data'), ...texts(raw['stringData'], 'stringData') };
      return kind === 'Secret' && raw['stringData'] === undefined
        ? []
        : Object.entries(data).flatMap(([path, text]) => decoded(text, path));
    }
    case 'HelmRelease':
      return isRecord(spec['values']) ? [{ path: 'spec.values', value: spec['values'] }] : [];
    case 'HelmChart':
    case 'HelmChartConfig':
      return decoded(spec['valuesContent'], 'spec.valuesContent');
    case 'Application':
      return applicationValues(spec);
    case undefined:
      return [{ path: '', value: raw }];
    default:
      return [];
  }
}

function texts(data: unknown, path: string): Readonly<Record<string, unknown>> {
  return isRecord(data) ? Object.fromEntries(Object.entries(data).map(([name, text]) => [`${path}.${name}`, text])) : {};
}

function decoded(text: unknown, path: string): Found[] {
  if (isRecord(text)) return [{ path, value: text }];
  if (typeof text !== 'string' || !text.includes(':')) return [];
  const { objects } = decodeObjects(path, text);
  return objects.flatMap(({ raw }) => (isRecord(raw) ? [{ path, value: raw }] : []));
}

/** Argo CD: the values of each source, as text, as an object, or as single parameters. */
function applicationValues(spec: Values): Found[] {
  const sources = [spec['source'], ...(Array.isArray(spec['sources']) ? spec['sources'] : [])];
  return sources.flatMap((source) => {
    const helm = isRecord(source) && isRecord(source['helm']) ? source['helm'] : {};
    const parameters = Array.isArray(helm['parameters']) ? helm['parameters'] : [];
    return [
      ...decoded(helm['values'], 'spec.source.helm.values'),
      ...decoded(helm['valuesObject'], 'spec.source.helm.valuesObject'),
      ...(parameters.length === 0 ? [] : [{ path: 'spec.source.helm.parameters', value: ofParameters(parameters) }]),
    ];
  });
}

/** Makes values of parameters such as `configInline.address-pools[0].name`. */
function ofParameters(parameters: readonly unknown[]): Values {
  const values: Record<string, unknown> = {};
  for (const parameter of parameters) {
    if (!isRecord(parameter) || typeof parameter['name'] !== 'string') continue;
    const steps = parameter['name'].split(/\.|\[(\d+)\]\.?/).filter((step) => step !== undefined && step !== '');
    setAt(values, steps, parameter['value']);
  }
  return values;
}

const longestList = 1000;

function setAt(values: Record<string, unknown>, steps: readonly string[], value: unknown): void {
  let at: Record<string, unknown> | unknown[] = values;
  for (const [index, step] of steps.entries()) {
    if (step === '__proto__' || (Array.isArray(at) && (!/^\d+$/.test(step) || Number(step) >= longestList))) return;
    const target = at as Record<string, unknown>;
    if (index === steps.length - 1) target[step] = value;
    else {
      const next = target[step] ?? (/^\d+$/.test(steps[index + 1] ?? '') ? [] : {});
      if (typeof next !== 'object') return;
      target[step] = next;
      at = next as Record<string, unknown> | unknown[];
    }
  }
}

/** Returns the values and, below the names of charts, those of their parts. */
function settingsIn(value: Values, path: string, levels: number): Found[] {
  const prefix = path === '' ? '' : `${path}.`;
  const below = levels === 0 ? [] : Object.entries(value);
  return [
    { path, value },
    ...below.flatMap(([name, inner]) => {
      // Charts take some of their configuration as text.
      if (name === 'configInline' && typeof inner === 'string') return decoded(inner, prefix + name);
      return isRecord(inner) ? settingsIn(inner, prefix + name, levels - 1) : [];
    }),
  ];
}

/** Returns "Kind/namespace/name". "configuration": a document without a kind. */
export const withName = (raw: Values): string => nameOf(raw) || unnamed;

function nameOf(raw: Values): string {
  const { kind, metadata } = raw;
  if (typeof kind !== 'string') return '';
  const { name, namespace } = isRecord(metadata) ? metadata : {};
  const full = [namespace, name].filter((part) => typeof part === 'string' && part !== '').join('/');
  return full === '' ? kind.slice(0, 63) : `${kind.slice(0, 63)}/${full}`;
}
