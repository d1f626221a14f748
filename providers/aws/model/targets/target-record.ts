/** A target, as far as it identifies it. */
interface Target {
  readonly id: string;
  readonly port: number;
}

/**
 * The targets that Herald has registered in target groups which it shares with others, by target group: the key of one of its own, or the ARN of one that it
 * does not own. Herald deregisters no other targets there.
 */
export type TargetRecord = ReadonlyMap<string, ReadonlySet<string>>;

/** A target group in which others register targets too. */
export interface SharedGroup {
  /** Keys of the targets that Herald has registered. Absent: it is not known yet. */
  readonly recorded?: readonly string[];
}

export const recordKeyOf = ({ id, port }: Target): string => `${id} ${port}`;

/** Writes the record as the text of an annotation. Undefined: there is nothing to record. */
export function formatRecord(record: TargetRecord): string | undefined {
  const groups = [...record].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([group, targets]) => [group, [...targets].toSorted()]);
  return groups.length === 0 ? undefined : JSON.stringify(Object.fromEntries(groups));
}

/** Reads the text of the annotation. A text that cannot be read counts as no record: then nothing is deregistered because of it. */
export function parseRecord(text: string | undefined): TargetRecord {
  const record = new Map<string, ReadonlySet<string>>();
  for (const [group, targets] of Object.entries(text === undefined ? {} : readJson(text)))
    if (Array.isArray(targets)) record.set(group, new Set(targets.filter((one) => typeof one === 'string')));
  return record;
}

function readJson(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

interface Group {
  readonly shared: SharedGroup;
  readonly targets: readonly Target[];
}

/** Returns whether Herald may deregister a target of the group, and takes it into account. */
export function isMineIn({ shared, targets }: Group): (key: string) => boolean {
  const mine = new Set([...(shared.recorded ?? []), ...targets.map(recordKeyOf)]);
  return (key) => mine.has(key);
}

/**
 * Returns the targets to record before targets are registered in the group. `present`: the keys of its registered targets. Without an earlier
 * record the wanted targets count as Herald's, as the group was Herald's alone. `isForeign`: it was not.
 */
export function nextRecorded({ shared, targets }: Group, present: ReadonlySet<string>, isForeign = false): ReadonlySet<string> {
  const wanted = targets.map(recordKeyOf);
  const { recorded = isForeign ? [] : wanted } = shared;
  const kept = recorded.filter((key) => present.has(key) || wanted.includes(key));
  // A wanted target that is registered and not recorded was registered by somebody else.
  return new Set([...kept, ...wanted.filter((key) => !present.has(key))]);
}
