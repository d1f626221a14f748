import { assert, constantFrom, dictionary, jsonValue, nat, property } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { limits } from '../../../../src/model/limits.ts';
import { expandList, parseObject } from '../../../../src/model/parse.ts';
import { ours, service, slice } from './manifests.ts';
import { runs } from '../../../support/property.ts';

const kinds = [
  ['v1', 'Service'],
  ['v1', 'Endpoints'],
  ['v1', 'Node'],
  ['v1', 'Namespace'],
  ['v1', 'Secret'],
  ['discovery.k8s.io/v1', 'EndpointSlice'],
  ...['IPAddressPool', 'BGPPeer', 'BGPAdvertisement', 'BFDProfile', 'Community', 'ExternalIPPolicy', 'HeraldConfig', 'NodeState'].map(
    (kind) => ['herald.dev/v1alpha1', kind],
  ),
] as const;

const valid = [
  service({ type: 'LoadBalancer', selector: { a: 'b' }, externalIPs: ['192.0.2.1'] }),
  slice(),
  ours('IPAddressPool', { addresses: ['192.0.2.0/24'], serviceAllocation: { priority: 1, namespaces: ['a'] } }),
  ours('BGPPeer', { myASN: 1, peerASN: 2, peerAddress: '192.0.2.1', holdTime: '9s', nodeSelectors: [{ matchLabels: { a: 'b' } }] }),
  ours('NodeState', {}),
];

/**
 * True when reports are bounded and the object is either read or has a problem. Subsets with the skip-mirror label are not generated here.
 */
function explained(raw: unknown): boolean {
  return expandList(raw).every(({ raw: one }) => {
    const { object, problems, warnings, ignored } = parseObject(one);
    const bounded = Math.max(problems.length, warnings.length) <= limits.problemsPerObject;
    return bounded && (object !== undefined || ignored || problems.length > 0);
  });
}

describe('parsing', () => {
  test('any input is parsed without throwing and in bounded time', () => {
    const check = () =>
      assert(
        property(
          constantFrom(...kinds),
          dictionary(constantFrom('spec', 'status', 'metadata', 'items', 'subsets', 'endpoints'), jsonValue()),
          ([apiVersion, kind], body) => explained({ ...(body as object), apiVersion, kind }),
        ),
        { numRuns: runs(300) },
      );
    expect(check).not.toThrow();
  });

  test('each object with one replaced value is read or gets a problem', () => {
    const check = () =>
      assert(
        property(constantFrom(...valid), nat(), jsonValue(), (raw, where, value) => {
          const copy = structuredClone(raw);
          const places: [Record<string, unknown>, string][] = [];
          const walk = (node: unknown): void => {
            if (typeof node !== 'object' || node === null) return;
            for (const [key, child] of Object.entries(node)) {
              places.push([node as Record<string, unknown>, key]);
              walk(child);
            }
          };
          walk(copy);
          const place = places[where % places.length];
          if (place !== undefined) place[0][place[1]] = value;
          return explained(copy);
        }),
        { numRuns: runs(500) },
      );
    expect(check).not.toThrow();
  });

  test('the number of reported problems is limited', () => {
    const ports = Array.from({ length: 500 }, () => ({ port: 0 }));
    expect(parseObject(service({ ports })).problems).toHaveLength(limits.problemsPerObject);
  });
});
