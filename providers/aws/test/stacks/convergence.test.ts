import { forwardingOf } from '../../../../providers/aws/cloud/forwarding.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { stackOf, type Member } from '../../../../providers/aws/desire/stack.ts';
import { Crash } from '../moto/fake/cloud.ts';
import { slice } from '../../../../test/unit/decisions/fixtures.ts';
import { anyDrift, anyMember } from '../support/arbitrary-services.ts';
import { worldDigest } from '../support/world-digest.ts';
import { StackFixture, awsMember } from '../support/stack-fixture.ts';
import { undoneWrites } from '../support/undone-writes.ts';
import { runs } from '../../../../test/support/property.ts';

const stack = stackOf(awsMember('nlb', { name: 'web' }));
/** Deterministic by default. AWS_RUNS and AWS_SEED widen the search. */
const sample = { numRuns: Number(process.env['AWS_RUNS'] ?? runs(20)), seed: Number(process.env['AWS_SEED'] ?? 7) };

function account(): StackFixture {
  const account = new StackFixture();
  account.slices = [slice({ service: 'default/web', ports: ['http:8080', 'https:8443', 'alt:8444'], endpoints: ['10.0.1.5', '10.0.1.6'] })];
  return account;
}

/** Reconciles until the fixed point, through crashes that lose all memory. */
async function settleAfterCrashes(account: StackFixture, members: readonly Member[]): Promise<void> {
  for (;;) {
    try {
      await account.settle(stack, members);
      return;
    } catch (error) {
      if (!(error instanceof Crash)) throw error;
      account.advance(1);
      await account.restart(stack);
    }
  }
}

describe('from any state of the account', () => {
  test('reconciling reaches a fixed point without undoing a write, and then writes nothing', async () => {
    await fc.assert(
      fc.asyncProperty(
        anyMember,
        fc.nat(40),
        anyMember,
        fc.array(anyDrift, { maxLength: 3 }),
        async (before, interrupted, after, drifts) => {
          const aws = account();
          aws.cloud.fault = (_, number) => (number > 10 + interrupted * 3 ? { kind: 'error', code: 'throttled' } : undefined);
          for (let pass = 0; pass < 8; pass++) {
            // While AWS throttles, facts cannot be read either.
            await aws.reconcile(stack, [before]).catch(() => undefined);
            aws.advance(60);
          }
          aws.cloud.fault = () => undefined;
          for (const { apply } of drifts) apply(aws);
          await aws.restart(stack);
          const start = aws.cloud.writes.length;
          await aws.settle(stack, [after]);
          expect(undoneWrites(aws.cloud.writes.slice(start))).toEqual([]);
          const end = aws.cloud.writes.length;
          aws.advance(301);
          await aws.reconcile(stack, [after]);
          expect(aws.cloud.writes.slice(end)).toEqual([]);
        },
      ),
      sample,
    );
  });

  test('the fixed point is the same as in an account without existing resources', async () => {
    await fc.assert(
      fc.asyncProperty(anyMember, anyMember, async (before, after) => {
        const [aged, fresh] = [account(), account()];
        await aged.settle(stack, [before]);
        await aged.settle(stack, [after]);
        await fresh.settle(stack, [after]);
        expect(portsOf(aged)).toEqual(portsOf(fresh));
      }),
      sample,
    );
  });
});

/** The part that clients and targets see. The rest may keep what the Service does not change, such as a name or a subnet. */
function portsOf({ world }: StackFixture): unknown {
  const groups = new Map(
    [...world.targetGroups].map(([arn, { value, targets }]) => [
      arn,
      {
        ...value,
        TargetGroupArn: '',
        TargetGroupName: '',
        Port: 0,
        targets: [...targets.values()]
          .filter(({ drainingSince }) => drainingSince === undefined)
          .map(({ target }) => target)
          .toSorted((a, b) => (a.Id < b.Id ? -1 : 1)),
      },
    ]),
  );
  const listeners = [...world.listeners.values()].map(({ value, extraCertificates }) => ({
    ...value,
    ListenerArn: '',
    LoadBalancerArn: '',
    DefaultActions: [...forwardingOf(value).groups.keys()].map((arn) => groups.get(arn)),
    // The certificate that became the default may also stay among the others.
    extraCertificates: [...extraCertificates].filter((arn) => arn !== value.Certificates?.[0]?.CertificateArn).toSorted(),
    // AWS' default value equals a missing one.
    AlpnPolicy: value.AlpnPolicy?.[0] ?? 'None',
  }));
  const classic = [...world.classic.values()].map(({ value }) => ({
    listeners: value.ListenerDescriptions.map(({ Listener }) => Listener).toSorted((a, b) => a.LoadBalancerPort - b.LoadBalancerPort),
    instances: value.Instances.map(({ InstanceId }) => InstanceId).toSorted(),
    check: value.HealthCheck,
    proxied: value.BackendServerDescriptions.toSorted((a, b) => a.InstancePort - b.InstancePort),
  }));
  const rules = [...world.securityGroups.values()].map(
    ({ GroupName, IpPermissions }) =>
      `${GroupName} ${IpPermissions.map((one) => JSON.stringify(one))
        .toSorted()
        .join()}`,
  );
  return {
    rules: rules.filter((text) => !text.startsWith('herald-backend-')).toSorted(),
    listeners: listeners.toSorted((a, b) => a.Port - b.Port),
    classic,
    groups: world.targetGroups.size,
    balancers: world.loadBalancers.size,
  };
}

describe('crashes', () => {
  test('a crash before or after any single call is repaired by the next reconciles', async () => {
    await fc.assert(
      fc.asyncProperty(anyMember, anyMember, fc.nat(150), fc.constantFrom('before', 'after' as const), async (before, after, at, when) => {
        const [crashing, other] = [account(), account()];
        await crashing.settle(stack, [before]);
        await other.settle(stack, [before]);
        const start = crashing.cloud.calls.length;
        let crashed = false;
        crashing.cloud.fault = (_, number) => {
          if (crashed || number < start + at) return undefined;
          crashed = true;
          return { kind: 'crash', when: when === 'before' ? 'before' : 'after' };
        };
        await settleAfterCrashes(crashing, [after]);
        await other.settle(stack, [after]);
        expect(worldDigest(crashing.world)).toBe(worldDigest(other.world));
      }),
      sample,
    );
  });

  test('the lost answer to any single call is repaired without a restart', async () => {
    await fc.assert(
      fc.asyncProperty(anyMember, anyMember, fc.nat(60), fc.constantFrom('lost', 'error' as const), async (before, after, at, kind) => {
        const [faulty, other] = [account(), account()];
        faulty.cloud.fault = (_, number) =>
          number !== at ? undefined : kind === 'lost' ? { kind: 'lost' } : { kind: 'error', code: 'unreachable' };
        // A failed read ends the reconcile. Then the Service asks for something else, so the existing resources differ from it.
        for (let pass = 0; pass < 12 && faulty.cloud.calls.length < at; pass++) {
          await faulty.reconcile(stack, [before]).catch(() => undefined);
          faulty.advance(5);
        }
        faulty.cloud.fault = () => undefined;
        await faulty.settle(stack, [after]);
        await other.settle(stack, [after]);
        expect(portsOf(faulty)).toEqual(portsOf(other));
      }),
      sample,
    );
  });
});

describe('deletion', () => {
  test('deletion leaves nothing of ours, even through crashes', async () => {
    await fc.assert(
      fc.asyncProperty(anyMember, anyMember, fc.nat(40), async (before, after, at) => {
        const aws = account();
        await aws.settle(stack, [before]);
        await aws.reconcile(stack, [after]);
        const start = aws.cloud.calls.length;
        let crashed = false;
        aws.cloud.fault = (_, number) => {
          if (crashed || number < start + at) return undefined;
          crashed = true;
          return { kind: 'crash', when: at % 2 === 0 ? 'before' : 'after' };
        };
        await settleAfterCrashes(aws, []);
        // The shared security group stays for other load balancers.
        const left = aws.owned().map((id) => aws.world.tags.get(id)?.get('herald.dev/resource'));
        expect(left.filter((resource) => resource !== 'backend-security-group')).toEqual([]);
      }),
      sample,
    );
  });
});

describe('resources that AWS lists late', () => {
  test('a resource that AWS lists late is not created twice', async () => {
    await fc.assert(
      fc.asyncProperty(anyMember, fc.nat(20), fc.nat(20), async (member, describeDelay, tagDelay) => {
        const [slow, other] = [account(), account()];
        slow.world.describeDelaySeconds = describeDelay;
        slow.world.tagDelaySeconds = tagDelay;
        await slow.settle(stack, [member]);
        await other.settle(stack, [member]);
        expect(worldDigest(slow.world)).toBe(worldDigest(other.world));
        // A listener is refused until AWS lists its load balancer.
        const made = slow.cloud.writes
          .filter(({ operation }) => /:Create(?:LoadBalancer|TargetGroup|SecurityGroup)$/.test(operation))
          .map((call) => JSON.stringify(call));
        expect(made.length).toBe(new Set(made).size);
      }),
      sample,
    );
  });
});
