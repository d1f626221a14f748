import { annotations } from '../annotations.ts';
import type { Labels } from '../objects/metadata.ts';

/** One MetalLB annotation of a Service: its counterpart in Herald and its text on the reference page. */
interface AnnotationRow {
  /** The name without its prefix. */
  readonly name: string;
  /** The annotation of Herald with the same purpose. Absent: MetalLB writes the annotation, and Herald does not read it. */
  readonly ours?: string;
  readonly does: 'same' | 'differs' | 'no';
  readonly text: string;
}

export const metallbPrefix = 'metallb.io/';
export const deprecatedPrefix = 'metallb.universe.tf/';

export const annotationRows: readonly AnnotationRow[] = [
  {
    name: 'address-pool',
    ours: annotations.addressPool,
    does: 'differs',
    text: 'Changing it moves the Service. A Service that is already outside the named pool when the controller starts is not moved, because the pools may have been redefined on purpose; its condition reports it ([AddressInOtherPool](reasons.md)).',
  },
  {
    name: 'loadBalancerIPs',
    ours: annotations.loadBalancerIPs,
    does: 'differs',
    text: 'Several addresses of one family, and addresses of different pools, may be requested. A Service keeps its addresses until all requested ones are free; in MetalLB it loses them first. One requested address of one family is enough for a `PreferDualStack` Service: it gets exactly that address. MetalLB refuses it for a Service without address, and to a Service that has it MetalLB adds the other family and then takes both away.',
  },
  {
    name: 'allow-shared-ip',
    ours: annotations.allowSharedIP,
    does: 'differs',
    text: 'Services of different namespaces share only where each admits the other (`herald.dev/allow-shared-ip-namespaces`), and with policy Local only with equal selectors that are not empty. Services that already share an address continue to do so, and their condition says what is missing. As in MetalLB, a Service whose owner gives it another key or a port of its partner loses the address at once, and its partner keeps it; after a change of policy, selector or namespaces, which MetalLB treats alike, it keeps the address until another is free.',
  },
  {
    name: 'ip-allocated-from-pool',
    does: 'no',
    text: 'Neither read nor written, because Herald writes only the status of a Service (with a provider of a cloud, also a finalizer). The pool of an address follows from the pools, which never overlap. A value that MetalLB wrote stays and may be out of date.',
  },
];

/** Finds the row of a MetalLB annotation. Returns undefined for other annotations; `row` is undefined when the name is unknown. */
export function metallbAnnotation(name: string): { readonly row: AnnotationRow | undefined; readonly deprecated: boolean } | undefined {
  const prefix = [metallbPrefix, deprecatedPrefix].find((candidate) => name.startsWith(candidate));
  if (prefix === undefined) return undefined;
  return { row: annotationRows.find((row) => row.name === name.slice(prefix.length)), deprecated: prefix === deprecatedPrefix };
}

interface AnnotationFinding {
  readonly name: string;
  readonly message: string;
  readonly fix: string;
}

export interface TranslatedAnnotations {
  readonly annotations: Labels;
  /** For each translated annotation of ours, the name of MetalLB's. */
  readonly from: ReadonlyMap<string, string>;
  readonly findings: readonly AnnotationFinding[];
}

/**
 * Translates MetalLB's annotations into ours. Returns undefined when there are none. As in MetalLB, metallb.io takes precedence over
 * metallb.universe.tf, even when its value is empty.
 */
export function translateAnnotations(written: Readonly<Record<string, unknown>>): TranslatedAnnotations | undefined {
  const names = Object.keys(written);
  if (!names.some((name) => metallbAnnotation(name) !== undefined)) return undefined;
  const translated: Record<string, unknown> = {};
  const from = new Map<string, string>();
  const findings: AnnotationFinding[] = [];
  for (const name of names) if (metallbAnnotation(name) === undefined) translated[name] = written[name];
  for (const row of annotationRows) {
    const [current, deprecated] = [`${metallbPrefix}${row.name}`, `${deprecatedPrefix}${row.name}`];
    const name = Object.hasOwn(written, current) ? current : deprecated;
    if (row.ours === undefined || !Object.hasOwn(written, name)) continue;
    if (name === deprecated) findings.push({ name, message: 'is deprecated in MetalLB', fix: `write ${current}, or ${row.ours}` });
    if (!Object.hasOwn(written, row.ours)) {
      translated[row.ours] = written[name];
      from.set(row.ours, name);
    } else if (written[row.ours] !== written[name]) {
      findings.push({ name, message: `is not used: ${row.ours} is set to another value`, fix: 'remove one of the two' });
    }
  }
  for (const name of names) {
    const meaning = metallbAnnotation(name);
    if (meaning !== undefined && meaning.row === undefined)
      findings.push({ name, message: 'is not an annotation of MetalLB that Herald knows', fix: 'remove it' });
  }
  return { annotations: translated as Labels, from, findings };
}
