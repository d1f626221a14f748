import { isRecord } from '../../../../lang/is-record.ts';
import { partsOf } from './tool.ts';

type Values = Readonly<Record<string, unknown>>;

/** Returns the containers of a Pod, or of what makes Pods. */
export function containersOf(raw: Values): Values[] {
  const { kind, spec } = partsOf(raw);
  const template = isRecord(spec['template']) ? partsOf(spec['template']).spec : spec;
  if (!['Pod', 'DaemonSet', 'Deployment', 'StatefulSet'].includes(kind)) return [];
  return Array.isArray(template['containers']) ? template['containers'].filter(isRecord) : [];
}

/** Returns the environment of a container by name, without variables whose value comes from elsewhere, which have `undefined`. */
export function environmentOf(container: Values): Record<string, unknown> {
  const list: readonly unknown[] = Array.isArray(container['env']) ? container['env'] : [];
  return Object.fromEntries(list.filter(isRecord).map(({ name, value }) => [String(name), value ?? '']));
}

/** Returns the flags of a container by name without "--". A flag without a value is "true". */
export function flagsOf(container: Values): Record<string, unknown> {
  const words = [container['command'], container['args']]
    .flatMap((list): readonly unknown[] => (Array.isArray(list) ? list : []))
    .map(String);
  const flags: Record<string, unknown> = {};
  for (const [index, word] of words.entries()) {
    const found = /^--([A-Za-z][\w-]*)(?:=(.*))?$/s.exec(word);
    if (found === null) continue;
    const next = words[index + 1];
    flags[found[1] ?? ''] = found[2] ?? (next === undefined || next.startsWith('-') ? 'true' : next);
  }
  return flags;
}

/** True when the image of a container is of the program. */
export const isImageOf = (container: Values, program: RegExp): boolean =>
  typeof container['image'] === 'string' && program.test(container['image']);
