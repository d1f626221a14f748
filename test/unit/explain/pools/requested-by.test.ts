import { describe, expect, test } from 'vitest';
import { sessionChange } from '../../../../src/agent/sessions/session-change.ts';
import { planChanges } from '../../../../src/explain/plan/plan.ts';
import { renderPlan } from '../../../../src/explain/plan/render-plan.ts';
import { explainAllocation } from '../../../../src/explain/pools/allocation.ts';
import { explainService } from '../../../../src/explain/service/service.ts';
import { renderService } from '../../../../src/explain/service/render-service.ts';
import { readObjects } from '../../../../src/sources/read-objects.ts';
import { ours, service } from '../../model/parse/manifests.ts';

const objects = (compat: unknown, pool: string) => [
  ours('HeraldConfig', { compat, defaultClass: true }, 'default'),
  ours('IPAddressPool', { addresses: [pool, '2001:db8::/120'] }, 'edge'),
  service({ type: 'LoadBalancer' }, { annotations: { 'kube-vip.io/loadbalancerIPs': '192.0.2.7' }, name: 'web', namespace: 'shop' }),
];
const snapshotOf = (compat: unknown, pool = '192.0.2.0/24') => readObjects(objects(compat, pool).map((raw) => ({ raw }))).snapshot;

describe('an address that an annotation of another program asks for', () => {
  test('herald plan names the annotation', () => {
    const lines = renderPlan(planChanges(snapshotOf([]), snapshotOf(['kube-vip']), { classify: sessionChange }));
    expect(lines.join('\n')).toContain('shop/web: none -> 192.0.2.7  requested by kube-vip.io/loadbalancerIPs');
  });

  test('herald explain service names the annotation beside the reason why there is no address', () => {
    const snapshot = snapshotOf('kube-vip', '198.51.100.0/24');
    const found = snapshot.services.get('shop/web');
    if (found === undefined) throw new RangeError('shop/web');
    expect(explainAllocation(snapshot, found)).toMatchObject({
      requestedBy: ['kube-vip.io/loadbalancerIPs'],
      reason: { code: 'AddressNotInPools' },
    });
    const explanation = explainService(snapshot, 'shop/web', 0);
    if (explanation === undefined) throw new RangeError('shop/web');
    expect(renderService(explanation).join('\n')).toContain('requested by kube-vip.io/loadbalancerIPs');
  });

  test('nothing is named without compat', () => {
    const snapshot = snapshotOf('none');
    const found = snapshot.services.get('shop/web');
    if (found === undefined) throw new RangeError('shop/web');
    expect(explainAllocation(snapshot, found)).not.toHaveProperty('requestedBy');
  });
});
