/** An object as the API has it: whole, with its defaults filled in. Nothing here looks into spec and status. */
export interface ApiObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly resourceVersion?: string;
  };
  readonly spec?: unknown;
  readonly [field: string]: unknown;
}

/** "namespace/name", or the name of what has no namespace. */
export function objectKey({ metadata: { namespace, name } }: ApiObject): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}
