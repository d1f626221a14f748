import type { ExtendedCommand, OptionValues, ProviderDefinition } from '../../controller/provider-definition.ts';
import { addProviderTables, removeProviderTables } from '../../model/provider-tables.ts';

const known = new Map<string, ProviderDefinition>();

/** Adds a provider to every table and command, and returns what takes it back. The composition root does so before it makes a command. */
export function addDefinition(definition: ProviderDefinition): () => void {
  addProviderTables(definition);
  known.set(definition.name, definition);
  return () => {
    removeProviderTables(definition.name);
    known.delete(definition.name);
  };
}

/** Returns what providers bring, in the order in which they were added. */
export function definitions(): readonly ProviderDefinition[] {
  return [...known.values()];
}

/** Returns the providers that ship with Herald and that the options enable. */
export function enabledDefinitions(options: OptionValues): readonly ProviderDefinition[] {
  return definitions().filter(({ shipped, isEnabled }) => shipped === true && isEnabled?.(options) !== false);
}

/** Returns the lines of providers for the examples in the help of a command. */
export function exampleLines(command: ExtendedCommand): string {
  return definitions()
    .map(({ examples }) => examples?.[command])
    .map((line) => (line === undefined ? '' : `${line}\n`))
    .join('');
}
