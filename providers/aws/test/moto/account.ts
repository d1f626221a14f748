export const region = 'us-east-1';
export const clusterName = 'test';
export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export const credentials: Credentials = { accessKeyId: 'test', secretAccessKey: 'test' };

/** The resources of an AWS account before Herald is started: the network of a cluster with three nodes in two zones, and certificates. */
export interface Account {
  readonly vpcId: string;
  /** One subnet per zone. */
  readonly publicSubnets: readonly string[];
  readonly privateSubnets: readonly string[];
  /** The security group of each node, tagged for the cluster. */
  readonly nodeGroup: string;
  /** The nodes with their zones. */
  readonly nodes: readonly { readonly instance: string; readonly zone: string; readonly address: string }[];
  /** ARNs: web.example.com and other.example.com in ACM, and one certificate in IAM. */
  readonly certificates: { readonly web: string; readonly other: string; readonly iam: string };
  /** Allocation ids, one per public subnet. */
  readonly elasticIps: readonly string[];
  /** The S3 bucket to which load balancers may write their logs. */
  readonly logBucket: string;
}
