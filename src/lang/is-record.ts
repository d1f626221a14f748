/** True for an object that is neither null nor an array, such as a mapping in JSON or YAML. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
