import type { Imported, Remark } from '../../../model/metallb/import.ts';
import { problemText, type SourceProblem } from '../../../sources/source.ts';
import type { ImportedService, ServiceImport } from '../../../model/metallb/import-services.ts';

/** Returns the report of an import in lines. Refused objects come first, because a person must fix them. */
export function renderImport(objects: readonly Imported[], { services, classes }: ServiceImport): string[] {
  const verdicts = ['refused', 'differs', 'exact'] as const;
  const inOrder = verdicts.flatMap((verdict) => objects.filter((one) => one.verdict === verdict));
  const counts = verdicts.map((verdict) => `${objects.filter((one) => one.verdict === verdict).length} ${verdict}`).toReversed();
  return [
    ...inOrder.flatMap(renderObject),
    ...services.flatMap(renderService),
    ...renderClasses(classes),
    `${objects.length} objects: ${counts.join(', ')}`,
  ];
}

/** Returns the report of an import for programs. */
export function importData(objects: readonly Imported[], { services, classes }: ServiceImport, problems: readonly SourceProblem[]): object {
  return {
    objects: objects.map(({ manifest: _manifest, ...one }) => one),
    services,
    classes: Object.fromEntries(classes),
    problems: problems.map(problemText),
  };
}

function renderObject({ object, where, verdict, remarks }: Imported): string[] {
  return [`${verdict}: ${object}${where === undefined ? '' : ` (${where})`}`, ...remarks.map(renderRemark)];
}

function renderService({ service, where, annotations, remarks }: ImportedService): string[] {
  const [namespace = '', name = ''] = service.split('/', 2);
  const added = Object.entries(annotations).map(([key, value]) => shellWord(`${key}=${value}`));
  const command = `  kubectl annotate service -n ${shellWord(namespace)} ${shellWord(name)} ${added.join(' ')}`;
  return [
    `annotated: Service ${service}${where === undefined ? '' : ` (${where})`}`,
    ...(added.length === 0 ? [] : [command]),
    ...remarks.map(renderRemark),
  ];
}

function renderRemark({ level, field, message, fix }: Remark): string {
  return `  ${level === 'note' ? 'note: ' : ''}${field}: ${message}${fix === '' ? '' : ` (${fix})`}`;
}

/** Notes which Services Herald would serve. HeraldConfig decides that; in MetalLB it is --lb-class. */
function renderClasses(classes: ReadonlyMap<string, number>): string[] {
  return [...classes]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, count]) => {
      const those = `${count} Service${count === 1 ? '' : 's'} of type LoadBalancer`;
      if (name === '')
        return `note: ${those} without a class: Herald serves them if HeraldConfig has defaultClass: true or compat: metallb`;
      return `note: ${those} of class ${name}: Herald serves them if HeraldConfig has loadBalancerClass: ${name}`;
    });
}

/** Quotes a word for a shell. */
function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
