import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SdkCloud } from '../../sdk/sdk-cloud.ts';
import { systemClock } from '../../../../src/system/clock.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { region } from './account.ts';
import { result, StubAws } from './stub-aws.ts';

/** Only with the credentials that the SDK's own chain finds. */
function cloud(): SdkCloud {
  const components = { clock: systemClock, random: () => 0, log: silentLog, stopped: new AbortController().signal };
  return new SdkCloud(components, { region, version: 'test' });
}

const before = { ...process.env };
let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'herald-credentials-'));
  delete process.env['AWS_ACCESS_KEY_ID'];
  delete process.env['AWS_SECRET_ACCESS_KEY'];
});
afterEach(() => {
  rmSync(directory, { recursive: true });
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name];
  Object.assign(process.env, before);
});

const empty = result('DescribeLoadBalancers', '<LoadBalancers/>');
const inAnHour = (): string => new Date(Date.now() + 3_600_000).toISOString();

describe('credentials', () => {
  test('IRSA: the token of the service account is exchanged at STS, and its key signs requests', async () => {
    await using aws = await StubAws.start(({ parameters }) =>
      parameters.get('Action') === 'AssumeRoleWithWebIdentity'
        ? result(
            'AssumeRoleWithWebIdentity',
            `<Credentials><AccessKeyId>OF-THE-ROLE</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>session</SessionToken><Expiration>${inAnHour()}</Expiration></Credentials><AssumedRoleUser><Arn>arn:role</Arn><AssumedRoleId>x:y</AssumedRoleId></AssumedRoleUser>`,
          )
        : empty,
    );
    writeFileSync(join(directory, 'token'), 'token-of-the-service-account');
    process.env['AWS_ENDPOINT_URL'] = aws.endpoint;
    process.env['AWS_REGION'] = region;
    process.env['AWS_ROLE_ARN'] = 'arn:aws:iam::123456789012:role/herald';
    process.env['AWS_WEB_IDENTITY_TOKEN_FILE'] = join(directory, 'token');
    await cloud().call('elbv2:DescribeLoadBalancers', {});
    const [exchange, request] = aws.requests;
    expect(exchange?.parameters.get('WebIdentityToken')).toBe('token-of-the-service-account');
    expect(exchange?.parameters.get('RoleArn')).toBe('arn:aws:iam::123456789012:role/herald');
    expect(request?.headers.authorization).toContain('Credential=OF-THE-ROLE/');
    expect(request?.headers['x-amz-security-token']).toBe('session');
  });

  test('EKS Pod Identity: credentials come from its agent with the token of the pod', async () => {
    await using aws = await StubAws.start(({ path }) =>
      path === '/v1/credentials'
        ? {
            contentType: 'application/json',
            body: JSON.stringify({ AccessKeyId: 'OF-THE-POD', SecretAccessKey: 's', Token: 'session', Expiration: inAnHour() }),
          }
        : empty,
    );
    writeFileSync(join(directory, 'token'), 'token-of-the-pod');
    process.env['AWS_ENDPOINT_URL'] = aws.endpoint;
    process.env['AWS_CONTAINER_CREDENTIALS_FULL_URI'] = `${aws.endpoint}/v1/credentials`;
    process.env['AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE'] = join(directory, 'token');
    await cloud().call('elbv2:DescribeLoadBalancers', {});
    const [exchange, request] = aws.requests;
    expect(exchange?.headers.authorization).toBe('token-of-the-pod');
    expect(request?.headers.authorization).toContain('Credential=OF-THE-POD/');
  });

  test('missing credentials are reported, and nothing is sent', async () => {
    await using aws = await StubAws.start(() => empty);
    process.env['AWS_ENDPOINT_URL'] = aws.endpoint;
    await expect(cloud().call('elbv2:DescribeLoadBalancers', {})).rejects.toMatchObject({ code: 'credentials' });
    expect(aws.requests).toEqual([]);
  });
});
