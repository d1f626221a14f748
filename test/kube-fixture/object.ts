/** An API object with its defaults filled in. Code here does not look into spec and status. */
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

/** Returns "namespace/name", or the name of an object without a namespace. */
export function objectKey({ metadata: { namespace, name } }: ApiObject): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}
