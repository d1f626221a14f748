/**
 * Lowers limits until the end of a block: `using _ = lowered(limits, { problems: 20 })`. For tests of what happens at a limit, where a world of its
 * real size shows nothing more.
 */
export function lowered<T extends Readonly<Record<string, number>>>(limits: T, changes: Partial<Record<keyof T, number>>): Disposable {
  const before = { ...limits };
  Object.assign(limits, changes);
  return { [Symbol.dispose]: () => void Object.assign(limits, before) };
}
