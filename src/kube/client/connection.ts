/** TLS identity, and what a request says of who we are. Values of secrets: never logged. */
export interface Credentials {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly passphrase?: string;
  /** The name that the certificate of the API server must have, where it is not the host of the URL. */
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
  /** "Bearer ..."; never sent without TLS. */
  readonly authorization?: string;
}

/** Where the API server is, and who we are there. */
export interface Connection {
  readonly server: URL;
  /** What whoever runs Herald can do where nobody answers there. */
  readonly whenUnreachable?: string;
  /** Rejects with KubeError (credentials). Cheap: whoever implements it caches what it read. */
  credentials(): Promise<Credentials>;
  /** The API server did not accept them: the next ones are read anew. */
  expired(): void;
}

/** The same credentials at another address of the API server: without a kube-proxy its ClusterIP leads nowhere until we run. */
export function atServer(connection: Connection, server: URL): Connection {
  return { server, credentials: () => connection.credentials(), expired: () => connection.expired() };
}
