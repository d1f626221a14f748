import { describe, expect, test } from 'vitest';
import { actionOf, forwardingOf } from '../../cloud/forwarding.ts';
import { limits } from '../../sdk/limits.ts';
import { SdkCloud } from '../../sdk/sdk-cloud.ts';
import { systemClock } from '../../../../src/system/clock.ts';
import { silentLog, type Log } from '../../../../src/system/log.ts';
import { credentials, region } from './account.ts';
import { refusal, result, StubAws, type StubRequest } from './stub-aws.ts';

function cloudAt(endpoint: string, log: Log = silentLog): SdkCloud {
  // Without randomness each pause has its shortest length.
  const components = { clock: systemClock, random: () => 0, log, stopped: new AbortController().signal };
  return new SdkCloud(components, { region, endpoint, credentials, version: '1.2.3' });
}

const arn = (name: string): string => `arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/${name}/1`;

function targetGroups(names: readonly string[], next?: string): string {
  const member = (name: string): string =>
    `<member><TargetGroupArn>${arn(name)}</TargetGroupArn><TargetGroupName>${name}</TargetGroupName><Protocol>TCP</Protocol><Port>80</Port><VpcId>vpc-1</VpcId><TargetType>ip</TargetType></member>`;
  return `<TargetGroups>${names.map(member).join('')}</TargetGroups>${next === undefined ? '' : `<NextMarker>${next}</NextMarker>`}`;
}

/** Returns the values of a list in the query protocol: "ResourceArns.member.1" and so on. */
function listed({ parameters }: StubRequest, name: string): string[] {
  return [...parameters].filter(([key]) => key.startsWith(`${name}.member.`)).map(([, value]) => value);
}

describe('requests to AWS', () => {
  test('all pages of an answer are read', async () => {
    const pages: Record<string, string> = { '': targetGroups(['a', 'b'], '2'), '2': targetGroups(['c'], '3'), '3': targetGroups(['d']) };
    await using aws = await StubAws.start(({ parameters }) => result('DescribeTargetGroups', pages[parameters.get('Marker') ?? ''] ?? ''));
    const { TargetGroups } = await cloudAt(aws.endpoint).call('elbv2:DescribeTargetGroups', {});
    expect(TargetGroups.map(({ TargetGroupName }) => TargetGroupName)).toEqual(['a', 'b', 'c', 'd']);
    expect(aws.requests.map(({ parameters }) => parameters.get('PageSize'))).toEqual(['400', '400', '400']);
  });

  test('an answer with endless pages fails', async () => {
    await using aws = await StubAws.start(() => ({
      contentType: 'application/x-amz-json-1.1',
      body: JSON.stringify({ CertificateSummaryList: [], NextToken: 'more' }),
    }));
    // A clock so fast that no request waits for its turn.
    const clock = { ...systemClock, now: () => performance.now() * 1000 };
    const components = { clock, random: () => 0, log: silentLog, stopped: new AbortController().signal };
    const cloud = new SdkCloud(components, { region, endpoint: aws.endpoint, credentials, version: '1.2.3' });
    await expect(cloud.call('acm:ListCertificates', {})).rejects.toMatchObject({
      code: 'other',
      cause: { code: 'too-many-pages' },
    });
    expect(aws.requests).toHaveLength(limits.pages);
  });

  test('weights of target groups are written and read', async () => {
    const groups = [0, 10].map((Weight, index) => ({ TargetGroupArn: arn(`${index}`), Weight }));
    const member = (fields: object): string =>
      `<member>${Object.entries(fields)
        .map(([name, value]) => `<${name}>${value}</${name}>`)
        .join('')}</member>`;
    const config = `<TargetGroups>${groups.map(member).join('')}</TargetGroups><TargetGroupStickinessConfig><Enabled>true</Enabled></TargetGroupStickinessConfig>`;
    const action = `<member><Type>forward</Type><ForwardConfig>${config}</ForwardConfig></member>`;
    const listener = `<member><ListenerArn>l</ListenerArn><LoadBalancerArn>b</LoadBalancerArn><Port>80</Port><Protocol>TCP</Protocol><DefaultActions>${action}</DefaultActions></member>`;
    await using aws = await StubAws.start(({ parameters }) =>
      parameters.get('Action') === 'ModifyListener'
        ? result('ModifyListener', '')
        : result('DescribeListeners', `<Listeners>${listener}</Listeners>`),
    );
    const cloud = cloudAt(aws.endpoint);
    const wanted = { groups: new Map(groups.map(({ TargetGroupArn, Weight }) => [TargetGroupArn, Weight])), isSticky: true };
    await cloud.call('elbv2:ModifyListener', { ListenerArn: 'l', DefaultActions: [actionOf(wanted)] });
    const sent = aws.requests[0]?.parameters;
    expect(sent?.get('DefaultActions.member.1.ForwardConfig.TargetGroups.member.2.Weight')).toBe('10');
    expect(sent?.get('DefaultActions.member.1.ForwardConfig.TargetGroupStickinessConfig.Enabled')).toBe('true');
    const { Listeners } = await cloud.call('elbv2:DescribeListeners', { LoadBalancerArn: 'b' });
    expect(Listeners.map((one) => forwardingOf(one))).toEqual([wanted]);
  });

  test('a target is registered and read with its server id for QUIC', async () => {
    const target = { Id: '10.0.1.5', Port: 443, QuicServerId: '0x00000000000000ab' };
    const shown = Object.entries(target).map(([name, value]) => `<${name}>${value}</${name}>`);
    const health = `<member><Target>${shown.join('')}</Target><TargetHealth><State>healthy</State></TargetHealth></member>`;
    await using aws = await StubAws.start(({ parameters }) =>
      parameters.get('Action') === 'RegisterTargets'
        ? result('RegisterTargets', '')
        : result('DescribeTargetHealth', `<TargetHealthDescriptions>${health}</TargetHealthDescriptions>`),
    );
    const cloud = cloudAt(aws.endpoint);
    await cloud.call('elbv2:RegisterTargets', { TargetGroupArn: arn('a'), Targets: [target] });
    expect(aws.requests[0]?.parameters.get('Targets.member.1.QuicServerId')).toBe(target.QuicServerId);
    const { TargetHealthDescriptions } = await cloud.call('elbv2:DescribeTargetHealth', { TargetGroupArn: arn('a') });
    expect(TargetHealthDescriptions).toEqual([{ Target: target, TargetHealth: { State: 'healthy' } }]);
  });

  test('tags are requested for 20 resources at a time', async () => {
    await using aws = await StubAws.start((request) => {
      const member = (one: string): string => `<member><ResourceArn>${one}</ResourceArn><Tags/></member>`;
      return result('DescribeTags', `<TagDescriptions>${listed(request, 'ResourceArns').map(member).join('')}</TagDescriptions>`);
    });
    const ResourceArns = Array.from({ length: 45 }, (_, index) => arn(String(index)));
    const { TagDescriptions } = await cloudAt(aws.endpoint).call('elbv2:DescribeTags', { ResourceArns });
    expect(TagDescriptions.map(({ ResourceArn }) => ResourceArn)).toEqual(ResourceArns);
    expect(aws.requests.map((request) => listed(request, 'ResourceArns').length)).toEqual([20, 20, 5]);
  });

  test('reserved capacity is written and read in the form of AWS', async () => {
    const zone = '<member><AvailabilityZone>us-east-1a</AvailabilityZone><State><Code>pending</Code></State></member>';
    const units = '<MinimumLoadBalancerCapacity><CapacityUnits>3000</CapacityUnits></MinimumLoadBalancerCapacity>';
    await using aws = await StubAws.start(({ parameters }) =>
      result(parameters.get('Action') ?? '', `${units}<CapacityReservationState>${zone}</CapacityReservationState>`),
    );
    const cloud = cloudAt(aws.endpoint);
    const LoadBalancerArn = arn('a');
    await cloud.call('elbv2:ModifyCapacityReservation', { LoadBalancerArn, MinimumLoadBalancerCapacity: { CapacityUnits: 3000 } });
    await cloud.call('elbv2:ModifyCapacityReservation', { LoadBalancerArn, ResetCapacityReservation: true });
    expect(
      aws.requests.map(({ parameters }) => [
        parameters.get('MinimumLoadBalancerCapacity.CapacityUnits'),
        parameters.get('ResetCapacityReservation'),
      ]),
    ).toEqual([
      ['3000', null],
      [null, 'true'],
    ]);
    expect(await cloud.call('elbv2:DescribeCapacityReservation', { LoadBalancerArn })).toEqual({
      MinimumLoadBalancerCapacity: { CapacityUnits: 3000 },
      CapacityReservationState: [{ AvailabilityZone: 'us-east-1a', State: { Code: 'pending' } }],
    });
  });

  test('a throttled request is sent again with a new signature', async () => {
    let sent = 0;
    await using aws = await StubAws.start(() => (++sent < 3 ? refusal('Throttling') : result('DescribeTargetGroups', targetGroups(['a']))));
    const { TargetGroups } = await cloudAt(aws.endpoint).call('elbv2:DescribeTargetGroups', {});
    expect(TargetGroups).toHaveLength(1);
    expect(new Set(aws.requests.map(({ headers }) => headers['amz-sdk-invocation-id'])).size).toBe(3);
  });

  test('the SDK itself repeats nothing: a write without an answer is sent once', async () => {
    await using aws = await StubAws.start(() => 'hang up');
    await expect(cloudAt(aws.endpoint).call('elbv2:DeleteTargetGroup', { TargetGroupArn: arn('a') })).rejects.toMatchObject({
      code: 'unreachable',
      awsCode: '',
    });
    expect(aws.requests).toHaveLength(1);
  });

  test('a write is not sent when leadership is lost before it is signed', async () => {
    await using aws = await StubAws.start(() => result('DescribeTargetGroups', targetGroups(['a'])));
    let asked = 0;
    // The controller leads at its turn, but no longer when the request is signed.
    const mayWrite = (): boolean => ++asked < 3;
    const components = { clock: systemClock, random: () => 0, log: silentLog, stopped: new AbortController().signal, mayWrite };
    const cloud = new SdkCloud(components, { region, endpoint: aws.endpoint, credentials, version: '1.2.3' });
    const refused = cloud.call('elbv2:DeleteTargetGroup', { TargetGroupArn: arn('a') });
    await expect(refused).rejects.toMatchObject({ code: 'stopping', message: expect.stringContaining('Lease') as string });
    expect([asked, aws.requests]).toEqual([3, []]);
    await cloud.call('elbv2:DescribeTargetGroups', {});
    expect([asked, aws.requests.length]).toEqual([3, 1]);
  });

  test("an error has AWS' code and AWS' request id", async () => {
    await using aws = await StubAws.start(() => refusal('TooManyTargetGroups'));
    const input = {
      Name: 'a',
      Protocol: 'TCP',
      Port: 80,
      VpcId: 'vpc-1',
      TargetType: 'ip',
      IpAddressType: 'ipv4',
      Tags: [],
    } as const;
    await expect(cloudAt(aws.endpoint).call('elbv2:CreateTargetGroup', input)).rejects.toMatchObject({
      code: 'quota',
      awsCode: 'TooManyTargetGroups',
      requestId: 'r-1',
      message: expect.stringContaining('as the test says'),
    });
  });

  test('an endpoint service that clients use is not deleted, although AWS answers with success', async () => {
    const error = '<error><code>ExistingVpcEndpointConnections</code><message>in use</message></error>';
    const connection =
      '<item><vpcEndpointId>vpce-1</vpcEndpointId><vpcEndpointOwner>1</vpcEndpointOwner><vpcEndpointState>available</vpcEndpointState></item>';
    const answers: Readonly<Record<string, string>> = {
      DeleteVpcEndpointServiceConfigurations: `<unsuccessful><item><resourceId>vpce-svc-1</resourceId>${error}</item></unsuccessful>`,
      DescribeVpcEndpointConnections: `<vpcEndpointConnectionSet>${connection}</vpcEndpointConnectionSet>`,
    };
    await using aws = await StubAws.start(({ parameters }) => {
      const action = parameters.get('Action') ?? '';
      return { body: `<${action}Response>${answers[action] ?? ''}</${action}Response>` };
    });
    const cloud = cloudAt(aws.endpoint);
    await expect(cloud.call('ec2:DeleteVpcEndpointServiceConfigurations', { ServiceIds: ['vpce-svc-1'] })).rejects.toMatchObject({
      code: 'inUse',
      awsCode: 'ExistingVpcEndpointConnections',
      message: expect.stringContaining('in use'),
    });
    const { VpcEndpointConnections } = await cloud.call('ec2:DescribeVpcEndpointConnections', { ServiceId: 'vpce-svc-1' });
    expect(VpcEndpointConnections).toEqual([{ VpcEndpointId: 'vpce-1', VpcEndpointOwner: '1', VpcEndpointState: 'available' }]);
    expect(aws.requests.at(-1)?.parameters.get('Filter.1.Value.1')).toBe('vpce-svc-1');
  });

  test('an answer without a guaranteed field is an error that names the field', async () => {
    await using aws = await StubAws.start(() => result('DescribeTargetGroups', '<TargetGroups><member/></TargetGroups>'));
    await expect(cloudAt(aws.endpoint).call('elbv2:DescribeTargetGroups', {})).rejects.toMatchObject({
      code: 'other',
      message: expect.stringContaining('the answer has no TargetGroupArn'),
    });
  });

  test("requests carry Herald's name and version, and the log contains no credentials", async () => {
    await using aws = await StubAws.start(() => result('DescribeTargetGroups', targetGroups([])));
    const lines: unknown[] = [];
    const write = (fields: object, message: string): void => void lines.push(fields, message);
    const cloud = cloudAt(aws.endpoint, { debug: write, info: write, warn: write, error: write });
    await cloud.call('elbv2:DescribeTargetGroups', { LoadBalancerArn: 'arn:lb' });
    expect(aws.requests[0]?.headers['user-agent']).toContain('herald/1.2.3');
    expect(lines).toMatchObject([{ operation: 'elbv2:DescribeTargetGroups', LoadBalancerArn: 'arn:lb' }, 'AWS answered']);
    expect(JSON.stringify(lines)).not.toContain(credentials.secretAccessKey);
  });
});
