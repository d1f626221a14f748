/** The TLS and HTTP identity of our requests. Contains secrets: never log it. */
export interface Credentials {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly passphrase?: string;
  /** The name that the API server's certificate must have, when it is not the URL's host. */
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
  /** "Bearer ...". Never sent without TLS. */
  readonly authorization?: string;
  /** Header fields of each request, such as Impersonate-User. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
}

/** The API server's address and our credentials there. */
export interface Connection {
  readonly server: URL;
  /** The fix for operators when no server answers at the address. */
  readonly whenUnreachable?: string;
  /** How long a request may take. Absent: the bound of all clients. */
  readonly requestMilliseconds?: number;
  /** Rejects with KubeError (credentials). Cheap, because implementations cache what they read. */
  credentials(): Promise<Credentials>;
  /** The API server rejected the credentials; the next call reads them again. */
  expired(): void;
}

/**
 * Returns the same credentials for another address of the API server. Without a kube-proxy its ClusterIP is unreachable until our agent
 * runs.
 */
export function atServer(connection: Connection, server: URL): Connection {
  return { server, credentials: () => connection.credentials(), expired: () => connection.expired() };
}
