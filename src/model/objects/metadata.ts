/** "namespace/name" of a Service, the key by which everything about a Service is found. */
export type ServiceKey = `${string}/${string}`;

export type Labels = Readonly<Record<string, string>>;

/** The part of ObjectMeta that decisions use. */
export interface Metadata {
  /** Empty for cluster-scoped kinds. */
  readonly namespace: string;
  readonly name: string;
  /** From the API server. Standalone: derived from kind, namespace and name, so that it survives an edit of the file. */
  readonly uid: string;
  /** From the API server. Standalone: the modification time of the file in nanoseconds, as decimal text. */
  readonly resourceVersion: string;
  readonly labels: Labels;
  readonly annotations: Labels;
  /** RFC 3339, or "" where unknown (standalone). */
  readonly creationTimestamp: string;
  readonly deleting: boolean;
  /** Counts the changes of the spec. Absent where the API server does not count, and standalone. */
  readonly generation?: number;
  /** Only of Services, and only where there are any: who has to do something before the object goes. */
  readonly finalizers?: readonly string[];
  /** Where the object was made of another program's: nothing is written to it, and messages name that one. */
  readonly origin?: TranslatedFrom;
}

/** An object of another program, as its own group has it. */
export interface TranslatedFrom {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** "IPAddressPool.metallb.io/metallb-system/main". */
export function originText({ apiVersion, kind, namespace, name }: TranslatedFrom): string {
  return `${kind}.${apiVersion.split('/')[0]}/${namespace}/${name}`;
}

export interface NamespacedName {
  readonly namespace: string;
  readonly name: string;
}

export function serviceKey({ namespace, name }: NamespacedName): ServiceKey {
  return `${namespace}/${name}`;
}
