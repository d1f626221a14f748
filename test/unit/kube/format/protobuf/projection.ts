import { Message, type FieldType } from '../../../../../src/kube/format/protobuf/message.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Returns what the table of a message keeps of an object in JSON. An empty list and null count as absent, as they do in Go. */
export function projected(message: Message, json: Fields): Fields {
  const kept: Record<string, unknown> = {};
  for (const [name, [, type]] of Object.entries(message.fields)) {
    const value = json[name] ?? undefined;
    if (value === undefined || (Array.isArray(value) && value.length === 0)) continue;
    kept[name] = Array.isArray(value) ? value.map((one) => ofType(elementOf(type), one)) : ofType(type, value);
  }
  return kept;
}

const ofType = (type: unknown, value: unknown): unknown => (type instanceof Message ? projected(type, value as Fields) : value);

/** Returns every field of a table: "spec.ports.name". */
export function pathsOf(message: Message, before = ''): string[] {
  return Object.entries(message.fields).flatMap(([name, [, type]]) => [
    `${before}${name}`,
    ...(elementOf(type) instanceof Message ? pathsOf(elementOf(type) as Message, `${before}${name}.`) : []),
  ]);
}

/** Returns the fields of a table that an object has, in the same form. */
export function pathsIn(message: Message, object: Fields, before = ''): string[] {
  return Object.entries(message.fields).flatMap(([name, [, type]]) => {
    const value = object[name] ?? undefined;
    if (value === undefined) return [];
    const element = elementOf(type);
    const inner = element instanceof Message ? [value].flat().flatMap((one) => pathsIn(element, one as Fields, `${before}${name}.`)) : [];
    return [`${before}${name}`, ...inner];
  });
}

function elementOf(type: FieldType): unknown {
  return 'element' in type ? type.element : type;
}
