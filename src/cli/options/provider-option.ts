import { Option } from 'commander';

export interface ProviderFlag {
  /** Paths of modules. */
  readonly provider?: readonly string[];
}

/** It may be given several times. */
export const providerOption = (): Option =>
  new Option(
    '--provider <module>',
    'a JavaScript or TypeScript module that gives Services load balancers, by its path; it runs with all that this process may do, and a command that only tells has it write nothing; may be given several times',
  ).argParser((path: string, before: readonly string[] | undefined) => [...(before ?? []), path]);
