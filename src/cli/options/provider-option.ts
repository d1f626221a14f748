import { Option } from 'commander';

export interface ProviderFlag {
  /** Paths of modules. */
  readonly provider?: readonly string[];
}

/** May be given several times. */
export const providerOption = (): Option =>
  new Option(
    '--provider <module>',
    'path of a JavaScript or TypeScript module with a provider; it runs with all rights of this process, and commands that only read tell it to write nothing; may be given several times',
  ).argParser((path: string, before: readonly string[] | undefined) => [...(before ?? []), path]);
