/**
 * Copies the fields whose value is not undefined. Fills optional properties, which may be absent but never undefined
 * (`exactOptionalPropertyTypes`): `{ name, ...defined({ port, protocol }) }`.
 */
export function defined<T extends object>(fields: T): Defined<T> {
  const copy: Partial<T> = {};
  for (const name in fields) if (fields[name] !== undefined) copy[name] = fields[name];
  return copy as Defined<T>;
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };
