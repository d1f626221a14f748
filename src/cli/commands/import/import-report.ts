import type { Remark } from '../../../model/metallb/import.ts';
import type { ImportedService, ServiceImport } from '../../../model/metallb/import-services.ts';
import type { ImportedTool } from './import-documents.ts';
import type { RequestElsewhere } from './requests-elsewhere.ts';
import { renderAddresses, type ServiceAddresses } from './service-addresses.ts';
import type { ImportedDocument } from './tools/tool.ts';

/** The result of an import. */
export interface ImportReport {
  readonly tools: readonly ImportedTool[];
  readonly services: ServiceImport;
  readonly addresses: readonly ServiceAddresses[];
  readonly elsewhere: readonly RequestElsewhere[];
  /** Lines about files and documents that were not read. */
  readonly unread: readonly string[];
  /** Lines about what was left out on purpose. */
  readonly notes: readonly string[];
}

const verdicts = ['refused', 'differs', 'exact'] as const;

/** Returns the report of an import in lines. Refused objects come first, because a person must fix them. */
export function renderImport(report: ImportReport): string[] {
  const {
    tools,
    services: { services, classes },
    addresses,
    elsewhere,
    unread,
    notes,
  } = report;
  const objects = tools.flatMap(({ documents }) => documents);
  const counts = verdicts.map((verdict) => `${objects.filter((one) => one.verdict === verdict).length} ${verdict}`).toReversed();
  const total = [...classes.values()].reduce((sum, count) => sum + count, 0);
  return [
    ...unread.map((line) => `problem: ${line}`),
    ...notes.map((line) => `note: ${line}`),
    ...tools.flatMap(({ tool, documents }) => [
      `${tool}: ${documents.length} ${documents.length === 1 ? 'object' : 'objects'}`,
      ...verdicts.flatMap((verdict) => documents.filter((one) => one.verdict === verdict)).flatMap(renderObject),
    ]),
    ...services.flatMap(renderService),
    ...renderElsewhere(elsewhere),
    ...renderAddresses(addresses),
    ...renderClasses(classes),
    `${objects.length} ${objects.length === 1 ? 'object' : 'objects'}: ${counts.join(', ')}${total === 0 ? '' : `; ${total} ${total === 1 ? 'Service' : 'Services'} of type LoadBalancer`}`,
  ];
}

/** Returns the report of an import for programs. */
export function importData(report: ImportReport): object {
  const {
    tools,
    services: { services, classes },
    addresses,
    elsewhere,
    unread,
    notes,
  } = report;
  return {
    objects: tools.flatMap(({ tool, documents }) => documents.map(({ manifests: _manifests, ...one }) => ({ tool, ...one }))),
    services,
    addresses,
    elsewhere,
    classes: Object.fromEntries(classes),
    problems: unread,
    notes,
  };
}

/** Returns the levels of all remarks. */
export function levelsOf({ tools, services: { services }, elsewhere }: ImportReport): ReadonlySet<Remark['level']> {
  const remarks = [...tools.flatMap(({ documents }) => documents), ...services].flatMap((one) => one.remarks);
  return new Set([...remarks.map(({ level }) => level), ...(elsewhere.length > 0 ? (['differs'] as const) : [])]);
}

function renderElsewhere(elsewhere: readonly RequestElsewhere[]): string[] {
  const objects = Map.groupBy(elsewhere, ({ object, where = '' }) => (where === '' ? object : `${object} (${where})`));
  return [...objects].flatMap(([object, requests]) => [
    `not read: ${object} has annotations of a Service that is not in the input`,
    ...requests.map(({ field, tool, value, fix }) => `  ${field}: asks ${tool} for ${value} (${fix})`),
  ]);
}

function renderObject({ object, where, verdict, remarks, agentOptions = [] }: ImportedDocument): string[] {
  return [
    `${verdict}: ${object}${where === undefined ? '' : ` (${where})`}`,
    ...(agentOptions.length === 0 ? [] : [`  herald agent ${agentOptions.join(' ')}`]),
    ...remarks.map(renderRemark),
  ];
}

function renderService({ service, where, annotations, withoutField, remarks }: ImportedService): string[] {
  const [namespace = '', name = ''] = service.split('/', 2).map(shellWord);
  const added = Object.entries(annotations).map(([key, value]) => shellWord(`${key}=${value}`));
  // One request, so that the Service never has both.
  const patch = JSON.stringify({ metadata: { annotations }, spec: { loadBalancerIP: null } });
  const command =
    withoutField === true
      ? `  kubectl patch service -n ${namespace} ${name} --type merge --patch ${shellWord(patch)}`
      : `  kubectl annotate service -n ${namespace} ${name} ${added.join(' ')}`;
  return [
    `annotated: Service ${service}${where === undefined ? '' : ` (${where})`}`,
    ...(added.length === 0 ? [] : [command]),
    ...remarks.map(renderRemark),
  ];
}

function renderRemark({ level, field, message, fix }: Remark): string {
  return `  ${level === 'note' ? 'note: ' : ''}${field === '' ? '' : `${field}: `}${message}${fix === '' ? '' : ` (${fix})`}`;
}

/** Notes which Services Herald would serve. HeraldConfig decides that; in MetalLB it is --lb-class. */
function renderClasses(classes: ReadonlyMap<string, number>): string[] {
  return [...classes]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, count]) => {
      const those = `${count} Service${count === 1 ? '' : 's'} of type LoadBalancer`;
      if (name === '')
        return `note: ${those} without a class: Herald serves them if HeraldConfig has defaultClass: true or compat: metallb`;
      return `note: ${those} of class ${name}: Herald leaves them to the program of that class, unless HeraldConfig has loadBalancerClass: ${name}`;
    });
}

/** Quotes a word for a shell. */
function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
