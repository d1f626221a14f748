import type { ReadOnlyCloud } from '../../cloud/cloud.ts';
import { AwsError } from '../../cloud/error.ts';

/** Resolves to true if AWS has the security policy. Undefined: it does not say, for example because Herald may not ask. */
export async function observeSslPolicy(cloud: ReadOnlyCloud, name: string): Promise<boolean | undefined> {
  try {
    const { SslPolicies } = await cloud.call('elbv2:DescribeSSLPolicies', { Names: [name] });
    return SslPolicies.some(({ Name }) => Name === name);
  } catch (error) {
    if (!(error instanceof AwsError)) throw error;
    return error.awsCode.startsWith('SSLPolicyNotFound') ? false : undefined;
  }
}
