/** Returns the names of the legacy iptables tables of a family that are in use. */
export type LegacyTables = (family: 'ip' | 'ip6') => Promise<readonly string[]>;

interface GenerationOptions {
  readonly legacyTables: LegacyTables;
  /** The names of the tables that matter, such as "filter". */
  readonly tables: readonly string[];
  /** Returns the number of the latest transaction of nf_tables, by any program. */
  readonly generation: () => Promise<number | undefined>;
}

/**
 * Returns the generation of rules that may also be in legacy tables. Undefined while one of `tables` is in use as a legacy table: those
 * change without a transaction of nf_tables.
 */
export async function readIptablesGeneration({ legacyTables, tables, generation }: GenerationOptions): Promise<number | undefined> {
  for (const family of ['ip', 'ip6'] as const) if ((await legacyTables(family)).some((table) => tables.includes(table))) return undefined;
  return generation();
}

/**
 * Returns a function that lists rules of other programs by `list`, and repeats the last result while `generation` returns the same number:
 * no transaction has changed a rule. `generation` resolves to undefined when rules may have changed unseen.
 */
export function listChangedRules<T>(list: () => Promise<T>, generation: () => Promise<number | undefined>): () => Promise<T> {
  let last: { readonly generation: number; readonly result: T } | undefined;
  return async () => {
    // Before the list: a transaction during the list belongs to a later generation.
    const current = await generation();
    if (current !== undefined && last?.generation === current) return last.result;
    last = undefined;
    const result = await list();
    last = current === undefined ? undefined : { generation: current, result };
    return result;
  };
}
