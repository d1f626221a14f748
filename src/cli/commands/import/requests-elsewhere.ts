import { isRecord } from '../../../lang/is-record.ts';
import { foreignAnnotation, translateForeign } from '../../../model/reading/foreign-annotations.ts';
import { metallbAnnotation } from '../../../model/reading/metallb-annotations.ts';
import { contained, withName, type RawDocument } from './sources/embedded.ts';

/** An annotation by which an object asks another load balancer for something, for a Service that its chart or controller makes. */
export interface RequestElsewhere {
  /** The object with the annotation, such as "HelmRelease/media/plex". */
  readonly object: string;
  readonly where?: string;
  /** Of the annotation in the object. */
  readonly field: string;
  readonly tool: string;
  readonly value: string;
  /** What to write beside the annotation, or what to do where Herald has no equivalent. */
  readonly fix: string;
}

/** Values of charts have the annotations of a Service some levels down. */
const depth = 16;

/**
 * Finds what objects other than Services ask other load balancers for: Helm values, a Gateway, an EnvoyProxy. The Service is not in the files, so
 * its owner has to write Herald's annotation there. Pure.
 */
export function requestsElsewhere(documents: readonly RawDocument[]): RequestElsewhere[] {
  return documents.flatMap(({ raw, where }) => {
    if (!isRecord(raw) || raw['kind'] === 'Service') return [];
    const inside = contained(raw).flatMap(({ path, value }) => annotationsIn(value, path, depth));
    // A text inside of a document is decoded. Anything else is found in both ways.
    const found = new Map([...inside, ...annotationsIn(raw, '', depth)].map((one) => [`${one.name} ${one.value}`, one]));
    const object = withName(raw);
    return [...found.values()].map(({ path, name, value }) => ({
      object,
      ...(where === undefined ? {} : { where }),
      field: `${path}["${name}"]`,
      value: value.slice(0, longestValue),
      ...remedyOf(name, value),
    }));
  });
}

const longestValue = 200;

interface Annotation {
  readonly path: string;
  readonly name: string;
  readonly value: string;
}

function annotationsIn(value: unknown, path: string, levels: number): Annotation[] {
  if (typeof value !== 'object' || value === null || levels === 0) return [];
  return Object.entries(value).flatMap(([name, inner]): Annotation[] => {
    if (typeof inner === 'string') return isRequest(name, inner) ? [{ path, name, value: inner }] : [];
    return annotationsIn(inner, path === '' ? name : `${path}.${name}`, levels - 1);
  });
}

const isRequest = (name: string, value: string): boolean =>
  foreignAnnotation(name, value) !== undefined || (value.trim() !== '' && metallbAnnotation(name)?.row?.ours !== undefined);

function remedyOf(name: string, value: string): { readonly tool: string; readonly fix: string } {
  const annotation = foreignAnnotation(name, value);
  const ours = annotation?.ours ?? metallbAnnotation(name)?.row?.ours;
  const translated = annotation === undefined ? value : translateForeign(annotation, value);
  const fix =
    ours === undefined || translated === undefined
      ? (annotation?.fix ?? '')
      : `write ${ours}: ${JSON.stringify(translated.slice(0, longestValue))} beside it`;
  return { tool: annotation?.tool ?? 'MetalLB', fix };
}
