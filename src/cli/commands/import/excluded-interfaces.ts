import { parse } from 'yaml';
import { isRecord } from '../../../lang/is-record.ts';
import { excludedInterfacesName, type RawInput } from '../../../model/metallb/import.ts';

const key = 'excludel2.yaml';

/** Returns a function that tells whether MetalLB never announces on an interface. A pattern that cannot be read excludes nothing. */
export function excludedInterfaces(inputs: readonly RawInput[]): (name: string) => boolean {
  const patterns = inputs.flatMap(({ raw }) => patternsOf(raw));
  return (name) => patterns.some((pattern) => pattern.test(name));
}

function patternsOf(raw: unknown): RegExp[] {
  if (!isRecord(raw) || raw['kind'] !== 'ConfigMap' || !isRecord(raw['metadata']) || !isRecord(raw['data'])) return [];
  if (raw['metadata']['name'] !== excludedInterfacesName) return [];
  const list = readYaml(raw['data'][key]);
  const written = isRecord(list) ? list['announcedInterfacesToExclude'] : undefined;
  return Array.isArray(written) ? written.flatMap(patternOf) : [];
}

function readYaml(text: unknown): unknown {
  try {
    return typeof text === 'string' ? parse(text) : undefined;
  } catch {
    return undefined;
  }
}

function patternOf(text: unknown): RegExp[] {
  try {
    return typeof text === 'string' ? [new RegExp(text)] : [];
  } catch {
    return [];
  }
}
