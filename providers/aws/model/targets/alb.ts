/** An existing load balancer that a Service names as the target of a port. */
export interface AlbFact {
  readonly arn: string;
  readonly name: string;
  readonly vpcId: string;
  /** "application" is required. */
  readonly type: string;
  readonly listeners: readonly { readonly port: number; readonly protocol: string }[];
}

/** The load balancers by the name or ARN that Services use. Absent from the map: it does not exist. */
export type AlbFacts = ReadonlyMap<string, AlbFact>;

/** The Application Load Balancer that is the target of a port. */
export interface AlbTarget {
  readonly arn: string;
  readonly name: string;
  /** The protocol of its listener, by which AWS checks it. */
  readonly protocol: 'HTTP' | 'HTTPS';
}
