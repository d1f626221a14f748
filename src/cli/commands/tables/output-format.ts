import { Option } from 'commander';
import { stringify } from 'yaml';
import { jsonText } from '../../context/command-context.ts';
import type { CommandOutput } from './watch.ts';

export interface TableOutputOptions {
  readonly output: 'text' | 'wide' | 'json' | 'yaml' | 'name';
}

/** The formats of every table. */
export const tableOutputOption = (): Option =>
  new Option('-o, --output <format>', 'text, wide (with more columns and all names), json or yaml')
    .choices(['text', 'wide', 'json', 'yaml'])
    .default('text');

/** The formats of a table of objects, which also have names. */
export const namedOutputOption = (): Option =>
  new Option(
    '-o, --output <format>',
    'text, wide (with more columns and all names), json, yaml, or name (the objects alone, such as service/shop/web)',
  )
    .choices(['text', 'wide', 'json', 'yaml', 'name'])
    .default('text');

/** Returns the output as a JSON or YAML document; several documents can follow each other. Undefined: the output is for people. */
export function asDocument({ output }: TableOutputOptions, data: object): CommandOutput | undefined {
  if (output === 'json') return { lines: [jsonText(data)], separator: [] };
  if (output === 'yaml') return { lines: [stringify(data, yaml).trimEnd()], separator: ['---'] };
  return undefined;
}

const yaml = { aliasDuplicateObjects: false, lineWidth: 0 } as const;
