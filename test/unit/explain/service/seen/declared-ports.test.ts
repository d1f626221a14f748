import { expect, test } from 'vitest';
import { withDeclaredPorts } from '../../../../../src/explain/service/seen/declared-ports.ts';
import type { NodeExplanation } from '../../../../../src/explain/service/service-node.ts';
import { readPod } from '../../../../../src/model/parse/kubernetes/pod.ts';
import { reason, reasonText, remedyText, type Reason } from '../../../../../src/model/reasons.ts';

/** A Pod whose containers declare these ports. */
const pod = (...ports: readonly object[]) =>
  readPod({
    metadata: { namespace: 'shop', name: 'web-1' },
    spec: { nodeName: 'n1', containers: [{ name: 'app', ports }] },
    status: { phase: 'Running', podIPs: [{ ip: '10.244.1.1' }, { ip: 'fd00:1::1' }] },
  });

function told(because: Reason, ...ports: readonly object[]): Reason | undefined {
  const failing = [{ service: 'shop/web', family: 'IPv4', port: '80/TCP', areAll: true, reason: because }] as const;
  const [node] = withDeclaredPorts(
    [{ node: 'n1', failing } as unknown as NodeExplanation],
    [pod(...ports)].filter((one) => one !== undefined),
  );
  return node?.failing?.[0]?.reason;
}

const refuses = (endpoints: string) => reason('EndpointRefuses', { node: 'n1', endpoints });

test.each([
  ['10.244.1.1:8081', [{ containerPort: 8080 }], ', and the containers of Pod web-1 declare no port 8081, but containerPort 8080'],
  [
    '[fd00:1::1]:8081 and 2 others',
    [{ containerPort: 8080 }, { containerPort: 9090 }, { containerPort: 53, protocol: 'UDP' }],
    ', and the containers of Pod web-1 declare no port 8081, but containerPort 8080, 9090',
  ],
  ['10.244.1.1:8080', [{ containerPort: 8080 }], ''],
  ['10.244.1.1:8081', [], ''],
  ['10.244.1.1:8081', [{ containerPort: 8081, protocol: 'UDP' }], ''],
  ['10.244.1.9:8081', [{ containerPort: 8080 }], ''],
] as const)('connections to %s of a Pod with ports %o are refused%s', (endpoints, ports, sentence) => {
  const because = told(refuses(endpoints), ...ports);
  expect(because && reasonText(because)).toBe(`connections to ${endpoints} are refused${sentence}`);
});

test('the fix names targetPort, also for an endpoint that is silent', () => {
  const silent = told(reason('EndpointSilent', { node: 'n1', endpoints: '10.244.1.1:8081' }), { containerPort: 8080 });
  expect(silent && reasonText(silent)).toContain('get no answer, and the containers of Pod web-1 declare no port 8081');
  const refused = told(refuses('10.244.1.1:8081'), { containerPort: 8080 });
  expect(refused && remedyText(refused)).toBe(
    'correct targetPort in spec.ports of the Service (port 8081), or let the program listen there',
  );
});
