import { reasonEntry, type Numbers, type Texts } from './entry.ts';

export interface OfPod {
  readonly pod: string;
}

/** Reasons that only `herald explain` gives. It reads Pods, which no decision does, and may lack permission to read every object. */
export const explanationReasons = {
  Undecided: reasonEntry({
    brief: 'The decision needs objects that were not read',
    says: (d: Texts<'resource'>) => `this cannot be decided here: you may not list ${d.resource}`,
    fix: (d) => `ask a person with the ClusterRole herald-explain, or bind that role to yourself (it lists ${d.resource})`,
  }),
  NotSent: reasonEntry({
    brief: 'The agent has not sent the route',
    says: (d: Texts<'node' | 'peer'>) => `the agent of ${d.node} has not sent it to ${d.peer} at this moment`,
    fix: (d) => `see whether the session is up and the kernel has the rules: herald explain node ${d.node}`,
  }),
  NoNodes: reasonEntry({
    brief: 'There is no Node object',
    says: () => 'there is no Node object, so nothing is announced or forwarded',
    fix: () => 'in manifests alone, add the Nodes: kubectl get nodes -o yaml',
  }),
  SelectorMatchesNothing: reasonEntry({
    brief: 'No Pod has the labels that the Service selects',
    says: (d: Texts<'selector' | 'nearest'> & Numbers<'pods'>) =>
      `no Pod of the namespace has the labels ${d.selector} (it has ${d.pods} Pods${d.nearest === '' ? '' : `; nearest: ${d.nearest}`})`,
    fix: () => 'correct spec.selector of the Service, or the labels in the template of the Pods',
  }),
  NoSelectorNoEndpoints: reasonEntry({
    brief: 'The Service has no selector and no EndpointSlice',
    says: () => 'the Service has no selector, so no Pod becomes its endpoint by itself, and no EndpointSlice names the Service',
    fix: () => 'set spec.selector, or write an EndpointSlice with the label kubernetes.io/service-name',
  }),
  PodNotScheduled: reasonEntry({
    brief: 'A Pod has no node',
    says: (d: OfPod & Texts<'why'>) => `Pod ${d.pod} has no node yet${d.why === '' ? '' : `: ${d.why}`}`,
    fix: (d) => `see kubectl describe pod ${d.pod}`,
  }),
  PodTerminating: reasonEntry({
    brief: 'A Pod is being deleted',
    says: (d: OfPod) => `Pod ${d.pod} is being deleted, and takes no new connections while another Pod is ready`,
    fix: () => '',
  }),
  PodEnded: reasonEntry({
    brief: 'A Pod has ended',
    says: (d: OfPod & Texts<'phase'>) => `Pod ${d.pod} has ended (${d.phase})`,
    fix: (d) => `see kubectl logs ${d.pod}`,
  }),
  PodContainerNotReady: reasonEntry({
    brief: 'A container of a Pod is not ready',
    says: (d: OfPod & Texts<'container' | 'state'> & Numbers<'restarts'>) =>
      `Pod ${d.pod}: container ${d.container} is not ready${d.state === '' ? '' : ` (${d.state})`}${d.restarts === 0 ? '' : `, ${d.restarts} restarts`}`,
    fix: (d) =>
      d.state === ''
        ? `its readiness probe fails, or has not passed yet: see kubectl describe pod ${d.pod}`
        : `see kubectl logs ${d.pod} -c ${d.container} --previous, and kubectl describe pod ${d.pod}`,
  }),
  PodGateNotMet: reasonEntry({
    brief: 'A readiness gate of a Pod is not met',
    says: (d: OfPod & Texts<'gate'>) => `Pod ${d.pod}: its containers are ready, but its readiness gate ${d.gate} is not met`,
    fix: (d) => `check the controller that sets the condition ${d.gate}; it must be True on the Pod`,
  }),
  PodNotReady: reasonEntry({
    brief: 'A Pod is not ready',
    says: (d: OfPod) => `Pod ${d.pod} is not ready, although its containers are`,
    fix: (d) => `see the conditions in kubectl describe pod ${d.pod}, and the state of its node`,
  }),
  PodLacksPort: reasonEntry({
    brief: 'A Pod has no port of the name that the Service sends to',
    says: (d: OfPod & Texts<'port'>) => `Pod ${d.pod} has no container port named "${d.port}", which targetPort names`,
    fix: (d) => `name a containerPort "${d.port}", or write its number as targetPort`,
  }),
  PodNotListed: reasonEntry({
    brief: 'A ready Pod is in no EndpointSlice',
    says: (d: OfPod) => `Pod ${d.pod} is ready, and no EndpointSlice of the Service has it`,
    fix: () => 'wait a moment; if it stays so, look at kube-controller-manager, which writes EndpointSlices',
  }),
};
