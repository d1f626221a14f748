import type { ViewedFailure } from '../../../decisions/verdict/node-view.ts';
import { addressesOfEndpoints } from '../../../model/reasons/listed-endpoints.ts';
import type { Pod } from '../../../model/objects/pod.ts';
import type { NodeExplanation } from '../service-node.ts';

/** Adds the ports that the Pods of failing endpoints declare, where that of the endpoints is not among them. */
export function withDeclaredPorts(nodes: readonly NodeExplanation[], pods: readonly Pod[]): NodeExplanation[] {
  return nodes.map((node) => {
    const { failing } = node;
    return failing === undefined ? node : { ...node, failing: failing.map((one) => withPort(one, pods)) };
  });
}

/** All endpoints of one reason have the same port of the Service. The first one decides. */
function withPort(failing: ViewedFailure, pods: readonly Pod[]): ViewedFailure {
  const because = failing.reason;
  if (because.code !== 'EndpointRefuses' && because.code !== 'EndpointSilent') return failing;
  const { endpoints } = because.details;
  const [address = ''] = addressesOfEndpoints(endpoints);
  const [, port] = /^(?:\[[^\]]*\]|[0-9.]+):(\d+)/.exec(endpoints) ?? [];
  const pod = pods.find(({ addresses }) => addresses.includes(address));
  const declared = [...new Set((pod?.containers ?? []).flatMap(({ ports = [] }) => ports))];
  if (pod === undefined || declared.length === 0 || declared.includes(Number(port))) return failing;
  const details = { ...because.details, pod: pod.name, declared: declared.slice(0, shownPorts).join(', ') };
  return { ...failing, reason: { ...because, details } };
}

const shownPorts = 5;
