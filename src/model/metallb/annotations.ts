import { annotations } from '../annotations.ts';
import type { Labels } from '../objects/metadata.ts';

/** One annotation of a Service that MetalLB knows: what is read in its place, and what the reference page says of it. */
interface AnnotationRow {
  /** Without its prefix. */
  readonly name: string;
  /** Absent: MetalLB writes it, and nobody reads it here. */
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
    text: 'A change of it moves the Service. That a Service is in another pool than the one it names when the controller starts does not: it may be the work of whoever cut the pools anew, and is told ([AddressInOtherPool](reasons.md)).',
  },
  {
    name: 'loadBalancerIPs',
    ours: annotations.loadBalancerIPs,
    does: 'differs',
    text: 'More than one of a family, and addresses of different pools, may be asked for. A Service keeps what it has until all that it asks for is free; in MetalLB it loses that first.',
  },
  {
    name: 'allow-shared-ip',
    ours: annotations.allowSharedIP,
    does: 'differs',
    text: 'Services of different namespaces share only where each admits the other (`herald.dev/allow-shared-ip-namespaces`), and with policy Local only with equal selectors that are not empty. What shares an address already goes on to do so, and its condition says what is missing.',
  },
  {
    name: 'ip-allocated-from-pool',
    does: 'no',
    text: 'Neither read nor written, as Herald writes nothing of a Service but its status (with AWS, also a finalizer). Of which pool an address is follows from the pools, which never overlap. What MetalLB has left there stays, and may be out of date.',
  },
];

/** What Herald reads in the place of an annotation of MetalLB; undefined: none of MetalLB's. */
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
  /** Of ours that were made of MetalLB's: which one each was. */
  readonly from: ReadonlyMap<string, string>;
  readonly findings: readonly AnnotationFinding[];
}

/** Undefined: there is nothing of MetalLB. As in MetalLB, metallb.io goes before metallb.universe.tf, also where it is empty. */
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
      findings.push({ name, message: `is not used: ${row.ours} is there, and says something else`, fix: 'remove one of the two' });
    }
  }
  for (const name of names) {
    const meaning = metallbAnnotation(name);
    if (meaning !== undefined && meaning.row === undefined)
      findings.push({ name, message: 'is not an annotation of MetalLB that Herald knows', fix: 'remove it' });
  }
  return { annotations: translated as Labels, from, findings };
}
