export const region = 'us-east-1';
export const clusterName = 'test';
export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export const credentials: Credentials = { accessKeyId: 'test', secretAccessKey: 'test' };

/** What an account has before Herald comes: the network of a cluster of three nodes in two zones, and certificates. */
export interface Account {
  readonly vpcId: string;
  /** One a zone. */
  readonly publicSubnets: readonly string[];
  readonly privateSubnets: readonly string[];
  /** On each node, tagged for the cluster. */
  readonly nodeGroup: string;
  /** With their zones. */
  readonly nodes: readonly { readonly instance: string; readonly zone: string; readonly address: string }[];
  /** ARNs: web.example.com and other.example.com of ACM, and one of IAM. */
  readonly certificates: { readonly web: string; readonly other: string; readonly iam: string };
  /** Of an Elastic IP for each public subnet. */
  readonly elasticIps: readonly string[];
  /** Of S3, into which load balancers may write their logs. */
  readonly logBucket: string;
}
