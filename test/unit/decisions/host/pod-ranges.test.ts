import { expect, test } from 'vitest';
import { judgePodRanges } from '../../../../src/decisions/host/pod-ranges.ts';
import { reasonText, remedyText } from '../../../../src/model/reasons.ts';
import { address } from '../../../../src/net/address.ts';
import { cluster } from '../fixtures.ts';

interface Case {
  readonly of: readonly string[];
  readonly podCIDRs?: readonly string[];
  readonly podInterfaces?: readonly string[];
  readonly pods?: readonly string[];
}

const judged = ({ of, pods = [], ...spec }: Case) =>
  judgePodRanges(
    cluster({
      nodes: [
        { name: 'n1', podCIDRs: of },
        { name: 'n2', podCIDRs: ['10.244.2.0/24'] },
      ],
      config: spec,
    }),
    'n1',
    pods.map((pod) => address(pod)),
  );

test.each<[what: string, of: Case, missed: string | undefined]>([
  [
    'a prefix of IPv6 that is too narrow',
    { of: ['10.244.1.0/24', 'fd00:244:1::/64'], podCIDRs: ['10.244.0.0/16', 'fd00:244::/48'] },
    'fd00:244:1::/64',
  ],
  ['a family without a prefix', { of: ['10.244.1.0/24', 'fd00:244:1::/64'], podCIDRs: ['fd00:244::/32'] }, '10.244.1.0/24'],
  [
    'both families elsewhere',
    { of: ['10.244.1.0/24', 'fd00:244:1::/64'], podCIDRs: ['10.42.0.0/16'] },
    '10.244.1.0/24 and fd00:244:1::/64',
  ],
  ['half of a range', { of: ['10.244.1.0/24'], podCIDRs: ['10.244.1.0/25'] }, '10.244.1.0/24'],
  ['pods in the range', { of: ['10.244.1.0/24'], podCIDRs: ['10.42.0.0/16'], pods: ['10.244.1.9', '10.42.0.9'] }, '10.244.1.0/24'],
  ['pods of the other family only', { of: ['10.244.1.0/24'], podCIDRs: ['10.42.0.0/16', 'fd00::/32'], pods: ['fd00::9'] }, '10.244.1.0/24'],
  ['the same ranges', { of: ['10.244.1.0/24'], podCIDRs: ['10.244.1.0/24'] }, undefined],
  ['two halves', { of: ['10.244.1.0/24'], podCIDRs: ['10.244.1.0/25', '10.244.1.128/25'] }, undefined],
  ['a network plugin with ranges of its own', { of: ['10.244.1.0/24'], podCIDRs: ['10.42.0.0/16'], pods: ['10.42.0.9'] }, undefined],
  [
    'pods of another node in the range of their Node',
    { of: ['10.244.1.0/24'], podCIDRs: ['10.244.2.0/23'], pods: ['10.244.2.9'] },
    '10.244.1.0/24',
  ],
  [
    'pods of another node that only HeraldConfig knows',
    { of: ['10.244.1.0/24'], podCIDRs: ['10.42.0.0/16'], pods: ['10.42.7.9'] },
    undefined,
  ],
  ['interfaces of pods', { of: ['10.244.1.0/24'], podCIDRs: ['10.42.0.0/16'], podInterfaces: ['cali*'] }, undefined],
  ['no podCIDRs in HeraldConfig', { of: ['10.244.1.0/24'] }, undefined],
  ['no podCIDRs of the Node', { of: [], podCIDRs: ['10.42.0.0/16'] }, undefined],
])('%s', (_, of, missed) => {
  expect(judged(of)).toEqual(
    missed === undefined ? undefined : { code: 'PodCIDRsMissed', details: expect.objectContaining({ node: 'n1', missed }) as unknown },
  );
});

test('the text names the Node, both fields and the fix', () => {
  const because = judged({ of: ['10.244.1.0/24'], podCIDRs: ['10.42.0.0/16'] });
  expect(because && [reasonText(because), remedyText(because)]).toEqual([
    expect.stringMatching(
      /^10\.244\.1\.0\/24 \(spec\.podCIDRs of node "n1"\) is not inside podCIDRs of HeraldConfig\/default \(10\.42\.0\.0\/16\):/,
    ),
    'add 10.244.1.0/24 to spec.podCIDRs of HeraldConfig/default; or leave the field out, and the podCIDRs of all Nodes count',
  ]);
});
