import { conflictsOf } from '../../../decisions/configuration/pool-conflicts.ts';
import { defined } from '../../../lang/defined.ts';
import { isRecord } from '../../../lang/is-record.ts';
import { importServices } from '../../../model/metallb/import-services.ts';
import type { Remark } from '../../../model/metallb/import.ts';
import { readObjects } from '../../../sources/read-objects.ts';
import { withOwnership } from './ownership.ts';
import { PoolCoverage } from './pool-coverage.ts';
import { withEmbedded, type RawDocument } from './sources/embedded.ts';
import { unfinished } from './sources/templates.ts';
import { tools } from './tools/all-tools.ts';
import { containersOf, environmentOf, flagsOf } from './tools/workload.ts';
import { nameOf, type ImportedDocument, type Manifest, type SourceDocument, type Tool } from './tools/tool.ts';

/** What was imported from one program. */
export interface ImportedTool {
  readonly tool: string;
  readonly documents: readonly ImportedDocument[];
}

export interface ImportResult {
  readonly tools: readonly ImportedTool[];
  /** A line for each document that is a template. */
  readonly templates: readonly string[];
}

/** Facts that the caller of an import knows and the documents do not have. */
interface ImportContext {
  /** MetalLB's own, if it is known. */
  readonly namespace?: string | undefined;
  /** Kind and name of objects in templates that could not be read. Default: none. */
  readonly unreadable?: readonly SourceDocument[];
  /** Default: all that are recognised by content. */
  readonly programs?: readonly Tool[];
}

/** Translates everything that configures one of the programs. Pure. */
export function importDocuments(
  raws: readonly RawDocument[],
  { namespace, unreadable = [], programs = tools }: ImportContext = {},
): ImportResult {
  const all = raws.flatMap(withEmbedded);
  const templates: string[] = [];
  const names = new Set<string>();
  const found = programs.flatMap((tool): ImportedTool[] => {
    const own = all.filter((document) => tool.recognises(document));
    const ofTemplates = new Set(own.filter(({ raw }) => unfinished(settingsOf(raw)) !== undefined));
    const usable = own.filter((document) => !ofTemplates.has(document));
    templates.push(...[...ofTemplates].map((one) => templateLine(one, settingsOf(one.raw))));
    if (usable.length === 0) return [];
    const input = { all, namespace, templates: [...ofTemplates, ...unreadable] };
    return [{ tool: tool.name, documents: uniqueNames(tool.translate(usable, input), names) }];
  });
  return { tools: checkTogether(found), templates };
}

/** What a program reads of a document. The scripts of a workload have variables of the shell, which are no placeholders. */
function settingsOf(raw: Readonly<Record<string, unknown>>): unknown {
  const containers = containersOf(raw);
  if (containers.length === 0) return raw;
  return { metadata: raw['metadata'], containers: containers.map((one) => [flagsOf(one), environmentOf(one)]) };
}

/** Leaves out marks of ownership, and objects whose kind and name were there before. */
export function uniqueNames(documents: readonly ImportedDocument[], names = new Set<string>()): ImportedDocument[] {
  return documents.map((one) => withOwnership(uniqueIn(names, one)));
}

const templateLine = ({ object, where }: Pick<SourceDocument, 'object' | 'where'>, raw: unknown): string =>
  `${where === undefined ? object : `${object} (${where})`} ${unfinished(raw) ?? 'is a template: render it first'}`;

/** Services without those that have placeholders in their annotations, and a line for each of these that asks for something. */
export function renderedServices(raws: readonly RawDocument[]): {
  readonly services: readonly RawDocument[];
  readonly templates: readonly string[];
} {
  const services = raws.filter(({ raw }) => isRecord(raw) && raw['kind'] === 'Service');
  const isOfTemplate = ({ raw }: RawDocument): boolean =>
    isRecord(raw) && isRecord(raw['metadata']) && unfinished(raw['metadata']) !== undefined;
  const asking = importServices(services.filter(isOfTemplate)).services;
  return {
    services: services.filter((one) => !isOfTemplate(one)),
    templates: asking.map(({ service, where }) => templateLine({ object: `Service ${service}`, ...defined({ where }) }, undefined)),
  };
}

/** Leaves out objects whose name is taken, because the second would replace the first in the cluster. */
function uniqueIn(names: Set<string>, document: ImportedDocument): ImportedDocument {
  const twice = document.manifests.filter((one) => names.has(`${one.kind}/${nameOf(one)}`));
  const first = document.manifests.filter((one) => !twice.includes(one));
  for (const one of first) names.add(`${one.kind}/${nameOf(one)}`);
  if (twice.length === 0) return document;
  const remarks = twice.map((one): Remark => ({
    level: 'refused',
    field: 'metadata.name',
    message: `would be a second ${one.kind} "${nameOf(one)}", so it is not written`,
    fix: 'rename one of the two; import one cluster at a time',
  }));
  return { ...document, verdict: 'refused', remarks: [...document.remarks, ...remarks], manifests: first };
}

/** MetalLB's objects were compared with each other already, with its rules. Here all pools meet, whoever had them. */
function checkTogether(found: readonly ImportedTool[]): ImportedTool[] {
  const manifests = found.flatMap(({ documents }) => documents.flatMap((one) => one.manifests));
  const { snapshot } = readObjects(manifests.map((raw) => ({ raw })));
  const conflicts = conflictsOf(snapshot.pools.values());
  const coverage = new PoolCoverage(snapshot);
  return found.map(({ tool, documents }) => ({
    tool,
    documents: documents.map((document) => {
      const remarks = document.manifests
        .flatMap((one) => poolRemarks(one, conflicts, coverage))
        .filter(({ field }) => !isSaid(document, field));
      if (remarks.length === 0) return document;
      const verdict = document.verdict === 'exact' && remarks.some(({ level }) => level === 'differs') ? 'differs' : document.verdict;
      return { ...document, verdict, remarks: [...document.remarks, ...remarks] };
    }),
  }));
}

const isSaid = (document: ImportedDocument, field: string): boolean => document.remarks.some((one) => one.field === field);

function poolRemarks(one: Manifest, conflicts: ReadonlyMap<string, readonly string[]>, coverage: PoolCoverage): Remark[] {
  if (one.kind !== 'IPAddressPool') return [];
  const overlaps = (conflicts.get(nameOf(one)) ?? []).map((other): Remark => ({
    level: 'differs',
    field: 'spec.addresses',
    message: `IPAddressPool "${nameOf(one)}" overlaps IPAddressPool "${other}": one of the two gives no addresses`,
    fix: 'make the pools disjoint',
  }));
  if (coverage.isAnnounced(nameOf(one))) return overlaps;
  const message = `IPAddressPool "${nameOf(one)}" is announced by nothing that was imported`;
  return [...overlaps, { level: 'note', field: 'spec', message, fix: 'add a BGPAdvertisement or an L2Advertisement' }];
}
