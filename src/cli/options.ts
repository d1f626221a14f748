import { Option } from 'commander';

/** Options that several commands have, with one wording. */
export const sourceOption = (): Option => new Option('--source <dir>', 'directory of manifests; records are kept in its folder .herald');

export const logLevelOption = (): Option =>
  new Option('--log-level <level>', 'least level that is logged').choices(['debug', 'info', 'warn', 'error']).default('info');

export const outputOption = (): Option => new Option('-o, --output <format>', 'text or json').choices(['text', 'json']).default('text');

export interface LogOptions {
  readonly logLevel: string;
}

export interface OutputOptions {
  readonly output: 'text' | 'json';
}
