import { CreateListenerCommand, CreateLoadBalancerCommand, ElasticLoadBalancingV2Client } from '@aws-sdk/client-elastic-load-balancing-v2';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { credentials, region } from './account.ts';
import { Moto } from './moto.ts';
import { motoBackend } from './scenarios/moto-backend.ts';
import { ScenarioFixture } from './scenarios/scenario-fixture.ts';
import { accountState, expectStable, http, service } from './scenarios/scenario.ts';

let moto: Moto;
beforeAll(async () => {
  moto = await Moto.start();
});
afterAll(() => moto.stop());

test('an NLB sends to an ALB of another owner, over HTTP', async () => {
  const fixture = new ScenarioFixture(await motoBackend(moto));
  const client = new ElasticLoadBalancingV2Client({ region, endpoint: moto.endpoint, credentials });
  const { LoadBalancers } = await client.send(
    new CreateLoadBalancerCommand({ Name: 'edge', Type: 'application', Scheme: 'internal', Subnets: [...fixture.account.privateSubnets] }),
  );
  const LoadBalancerArn = LoadBalancers?.[0]?.LoadBalancerArn ?? '';
  const annotations = { 'herald.dev/aws-alb-target': 'edge' };
  fixture.apply(service('web', [http], { annotations }));
  const refused = await fixture.pass();
  expect(JSON.stringify([...(refused.get('default/web')?.errors ?? [])])).toContain('has no listener on port 80');
  expect(fixture.takeWrites()).toEqual([]);

  const DefaultActions = [{ Type: 'fixed-response' as const, FixedResponseConfig: { StatusCode: '200' } }];
  await client.send(new CreateListenerCommand({ LoadBalancerArn, Port: 80, Protocol: 'HTTP', DefaultActions }));
  await fixture.settle();
  const ofNlb = async () => (await accountState(fixture)).nlbs.filter(({ name }) => name !== 'edge');
  expect(await ofNlb()).toMatchObject([
    {
      listeners: [
        {
          port: 80,
          protocol: 'TCP',
          targetGroup: {
            protocol: 'TCP',
            port: 80,
            targetType: 'alb',
            healthCheck: { protocol: 'HTTP', port: 'traffic-port', path: '/' },
            targets: [`${LoadBalancerArn}:80`],
          },
        },
      ],
    },
  ]);
  await expectStable(fixture);
  await fixture.removeAll();
  expect((await accountState(fixture)).nlbs.map(({ name }) => name)).toEqual(['edge']);
});
