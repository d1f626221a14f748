import type { ConfigPart } from '../provider-tables.ts';
import type { ObjectOf } from './fields.ts';
import { defaultsOf } from './kind.ts';
import type { ObjectValue } from './value.ts';

/** A part whose settings have a type. */
export interface TypedConfigPart<Settings> extends ConfigPart {
  readonly read: (written: unknown) => Settings;
  /** Returns the settings that are in force. */
  readonly of: (config: { readonly parts: Readonly<Record<string, unknown>> }) => Settings;
}

/** Makes a part of HeraldConfig. `settings` fills in the defaults that depend on other fields. */
export function configPart<F, Settings>(
  name: string,
  schema: ObjectOf<F, boolean>,
  settings: (value: ObjectValue<F>) => Settings,
): TypedConfigPart<Settings> {
  const read = (written: unknown): Settings => settings((written as ObjectValue<F> | undefined) ?? defaultsOf(schema));
  return { name, schema, read, of: ({ parts }) => (parts[name] as Settings | undefined) ?? read(undefined) };
}
