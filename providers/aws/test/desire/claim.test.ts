import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { defined } from '../../../../src/lang/defined.ts';
import { decideAwsClaim } from '../../../../providers/aws/desire/claim.ts';
import { classlessModes } from '../../../../providers/aws/model/settings.ts';
import { BareMetalProvider } from '../../../../providers/bare-metal/provider.ts';
import { cluster, config, service } from '../../../../test/unit/decisions/fixtures.ts';
import { runs } from '../../../../test/support/property.ts';

const typeKey = 'service.beta.kubernetes.io/aws-load-balancer-type';
const classes = [
  undefined,
  'herald.dev/aws',
  'herald.dev/aws-classic',
  'service.k8s.aws/nlb',
  'herald.dev/herald',
  'example.com/other',
] as const;
const types = [undefined, 'nlb', 'nlb-ip', 'external', 'classic', ''] as const;

function withType(loadBalancerClass: string | undefined, type: string | undefined): ReturnType<typeof service> {
  const plain = service({ name: 'web', ...defined({ loadBalancerClass }) });
  return type === undefined ? plain : { ...plain, metadata: { ...plain.metadata, annotations: { [typeKey]: type } } };
}

describe("the AWS provider's claim on a Service", () => {
  test.each([
    ['herald.dev/aws', undefined, 'off', 'nlb'],
    ['herald.dev/aws-classic', 'nlb', 'off', 'classic'],
    ['service.k8s.aws/nlb', undefined, 'off', 'nlb'],
    ['example.com/other', 'nlb', 'classic', undefined],
    [undefined, 'nlb', 'off', undefined],
    [undefined, undefined, 'legacy', undefined],
    [undefined, 'nlb', 'legacy', 'nlb'],
    [undefined, 'external', 'legacy', 'nlb'],
    [undefined, 'nlb-ip', 'classic', 'nlb'],
    [undefined, 'clb', 'legacy', 'classic'],
    [undefined, undefined, 'classic', 'classic'],
  ] as const)(
    'class %s, type annotation %s, --aws-classless=%s: the Service is claimed as %s',
    (loadBalancerClass, type, classless, kind) => {
      const claim = decideAwsClaim(withType(loadBalancerClass, type), config({ defaultClass: false }), { classless });
      expect(claim.mine ? claim.kind : undefined).toBe(kind);
    },
  );

  test('a Service with our finalizer stays claimed when --aws-classless is switched off', () => {
    const plain = withType(undefined, undefined);
    const held = { ...plain, metadata: { ...plain.metadata, finalizers: ['herald.dev/aws'] } };
    expect(decideAwsClaim(held, config({ defaultClass: false }), { classless: 'off' })).toEqual({ mine: true, kind: 'classic' });
  });

  test('the AWS and the bare-metal provider never both claim a Service', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...classes),
        fc.constantFrom(...types),
        fc.constantFrom(...classlessModes),
        fc.constantFrom('LoadBalancer', 'ClusterIP', 'NodePort', 'ExternalName' as const),
        fc.boolean(),
        fc.constantFrom('herald.dev/herald', 'herald.dev/aws', 'service.k8s.aws/nlb', 'example.com/other'),
        (loadBalancerClass, annotation, classless, type, defaultClass, ours) => {
          const given = { ...withType(loadBalancerClass, annotation), type: type as 'LoadBalancer' };
          const snapshot = cluster({ config: { defaultClass, loadBalancerClass: ours } });
          const claims = [new BareMetalProvider().claim(given, snapshot).mine, decideAwsClaim(given, snapshot.config, { classless }).mine];
          expect(claims.filter(Boolean).length).toBeLessThanOrEqual(1);
        },
      ),
      { numRuns: runs(500) },
    );
  });
});
