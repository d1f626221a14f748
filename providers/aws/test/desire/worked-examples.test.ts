import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { defined } from '../../../../src/lang/defined.ts';
import { decideAwsClaim } from '../../../../providers/aws/desire/claim.ts';
import { memberOf, stackOf } from '../../../../providers/aws/desire/stack.ts';
import { clusterConfig } from '../../../../src/model/kinds/default-config.ts';
import { parseObject } from '../../../../src/model/parse.ts';
import type { Service } from '../../../../src/model/objects/service.ts';
import { StackFixture } from '../support/stack-fixture.ts';

/** Services and the AWS resources that they become. The test compares the account, not the plan. */
interface Example {
  readonly name: string;
  readonly service: { readonly metadata: object; readonly spec: { readonly [field: string]: unknown } };
  readonly becomes: {
    readonly kind: 'nlb' | 'classic';
    readonly listeners: readonly Readonly<Record<string, unknown>>[];
    readonly targetGroups?: readonly Readonly<Record<string, unknown>>[];
    readonly healthCheck?: { readonly target: string };
  };
}

const file = join(import.meta.dirname, '../moto/aws-examples.yaml');
const { examples } = parse(readFileSync(file, 'utf8')) as { readonly examples: readonly Example[] };

function read({ service: { metadata, spec } }: Example): Service {
  const manifest = { apiVersion: 'v1', kind: 'Service', metadata, spec: { clusterIP: '10.96.0.1', ...spec } };
  const { object, problems } = parseObject(manifest, {});
  expect(problems).toEqual([]);
  return object as Service;
}

describe('worked examples', () => {
  test('the file contains all examples', () => expect(examples.length).toBe(5));

  test.each(examples)('$name', async (example) => {
    const service = read(example);
    const claim = decideAwsClaim(service, clusterConfig, { classless: 'classic' });
    expect(claim).toEqual({ mine: true, kind: example.becomes.kind });
    const member = memberOf(service, example.becomes.kind);
    expect([...member.errors, ...member.warnings]).toEqual([]);
    const account = new StackFixture();
    const { errors } = await account.settle(stackOf(member), [member]);
    expect([...errors]).toEqual([]);
    const { listeners, targetGroups, healthCheck } = example.becomes;
    const byPort = (a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>): number =>
      Number(a['port']) - Number(b['port']);
    const seen = example.becomes.kind === 'nlb' ? nlb(account) : classic(account);
    expect(seen.listeners.toSorted(byPort)).toEqual(listeners.toSorted(byPort));
    if (targetGroups !== undefined) expect(seen.targetGroups?.toSorted(byPort)).toEqual(targetGroups.toSorted(byPort));
    if (healthCheck !== undefined) expect(seen.healthCheck).toEqual(healthCheck);
  });
});

function nlb({ world }: StackFixture): {
  listeners: Record<string, unknown>[];
  targetGroups: Record<string, unknown>[];
  healthCheck?: unknown;
} {
  expect([...world.loadBalancers.values()].map(({ value }) => value.Type)).toEqual(['network']);
  return {
    listeners: [...world.listeners.values()].map(({ value }) => ({
      port: value.Port,
      protocol: value.Protocol,
      ...(value.Certificates === undefined ? {} : { certificate: true }),
    })),
    targetGroups: [...world.targetGroups.values()].map(({ value }) => ({
      protocol: value.Protocol,
      port: value.Port,
      targetType: value.TargetType,
      healthCheck: {
        protocol: value.HealthCheckProtocol,
        port: value.HealthCheckPort === 'traffic-port' ? 'traffic-port' : Number(value.HealthCheckPort),
        ...defined({ path: value.HealthCheckPath }),
      },
    })),
  };
}

function classic({ world }: StackFixture): {
  listeners: Record<string, unknown>[];
  targetGroups?: Record<string, unknown>[];
  healthCheck?: unknown;
} {
  const [found, ...others] = world.classic.values();
  expect([others.length, world.loadBalancers.size]).toEqual([0, 0]);
  return {
    listeners: (found?.value.ListenerDescriptions ?? []).map(({ Listener }) => ({
      port: Listener.LoadBalancerPort,
      protocol: Listener.Protocol,
      instanceProtocol: Listener.InstanceProtocol,
      instancePort: Listener.InstancePort,
      ...(Listener.SSLCertificateId === undefined ? {} : { certificate: true }),
    })),
    healthCheck: { target: found?.value.HealthCheck.Target },
  };
}
