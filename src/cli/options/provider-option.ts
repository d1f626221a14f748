import { InvalidArgumentError, Option, type Command } from 'commander';
import type { ProviderOption } from '../../controller/provider-definition.ts';
import { oneMore } from './shared-options.ts';
import { definitions } from '../context/definitions.ts';

export interface ProviderFlag {
  /** Paths of modules. */
  readonly provider?: readonly string[];
}

/** May be given several times. */
export const providerOption = (): Option =>
  new Option(
    '--provider <module>',
    'path of a JavaScript or TypeScript module with a provider; it runs with all rights of this process, and commands that only read tell it to write nothing; may be given several times',
  ).argParser(oneMore);

/** Adds the options of every provider to a command. */
export function addProviderOptions(command: Command): Command {
  for (const { options = [] } of definitions()) for (const option of options) command.addOption(providersOption(option));
  return command;
}

/** Makes an option from its description. */
export function providersOption({ flags, description, choices, parse, required, ...others }: ProviderOption): Option {
  const option = new Option(flags, description);
  if (choices !== undefined) option.choices(choices);
  if (parse !== undefined)
    option.argParser((text: string) => {
      const read = parse(text);
      if (!read.ok) throw new InvalidArgumentError(read.problem);
      return read.value;
    });
  if ('default' in others) option.default(others.default, others.defaultText);
  return option.makeOptionMandatory(required === true);
}
