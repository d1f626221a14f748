/** "namespace/name" of a Service, its key everywhere. */
export type ServiceKey = `${string}/${string}`;

export type Labels = Readonly<Record<string, string>>;

/** The fields of ObjectMeta that decisions use. */
export interface Metadata {
  /** "" for cluster-scoped kinds. */
  readonly namespace: string;
  readonly name: string;
  /** From the API server. Standalone: derived from kind, namespace and name, so that it survives edits of the file. */
  readonly uid: string;
  /** From the API server. Standalone: the file's modification time in nanoseconds, as decimal text. */
  readonly resourceVersion: string;
  readonly labels: Labels;
  readonly annotations: Labels;
  /** RFC 3339. "" when unknown (standalone). */
  readonly creationTimestamp: string;
  readonly deleting: boolean;
  /** Of a pool of a directory: since when its record says that it is in force, RFC 3339. Absent: it does not. */
  readonly inForceSince?: string;
  /** metadata.generation, which counts changes of the spec. Absent when the API server does not count, and standalone. */
  readonly generation?: number;
  /** Finalizers of a Service. Absent when there are none, and for other kinds. */
  readonly finalizers?: readonly string[];
  /** Set when the object was translated from another program's object. Herald does not write to it, and messages name the original. */
  readonly origin?: TranslatedFrom;
}

export interface ObjectName extends NamespacedName {
  readonly apiVersion: string;
  readonly kind: string;
}

/** Identifies an object of another program, in that program's API group. */
export type TranslatedFrom = ObjectName;

/** Returns text such as "IPAddressPool.metallb.io/metallb-system/main". */
export function originText({ apiVersion, kind, namespace, name }: TranslatedFrom): string {
  return `${kind}.${apiVersion.split('/')[0]}/${namespace}/${name}`;
}

export interface NamespacedName {
  /** "" for cluster-scoped kinds. */
  readonly namespace: string;
  readonly name: string;
}

export function serviceKey({ namespace, name }: NamespacedName): ServiceKey {
  return `${namespace}/${name}`;
}
