import type { Labels } from '../../model/objects/metadata.ts';
import type { Pod } from '../../model/objects/pod.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Service } from '../../model/objects/service.ts';
import { limits } from '../limits.ts';

/**
 * Explains why Pods of the namespace are not ready endpoints of the Service. An EndpointSlice does not tell a selector that matches nothing
 * from matching Pods that are not ready. `listed` has the addresses in EndpointSlices. Empty result: no problem.
 */
export function explainPods(service: Service, pods: readonly Pod[], listed: ReadonlySet<string>): Reason[] {
  if (!service.hasSelector) return listed.size === 0 ? [reason('NoSelectorNoEndpoints', undefined)] : [];
  const selector = selectorOf(service);
  const matching = pods.filter(({ labels }) => differing(selector, labels).length === 0);
  if (matching.length === 0) {
    return [reason('SelectorMatchesNothing', { selector: service.selectorText, pods: pods.length, nearest: nearestOf(selector, pods) })];
  }
  const named = new Set(service.ports.flatMap(({ targetPort }) => (typeof targetPort === 'string' ? [targetPort] : [])));
  return matching.flatMap((pod) => whyNot(pod, named, listed) ?? []).slice(0, limits.pods);
}

/** Returns the first cause only, because the others follow from it. */
function whyNot(pod: Pod, named: ReadonlySet<string>, listed: ReadonlySet<string>): Reason | undefined {
  const { name, phase, containers, unmetGates } = pod;
  if (phase === 'Succeeded' || phase === 'Failed') return reason('PodEnded', { pod: name, phase });
  if (pod.terminating) return reason('PodTerminating', { pod: name });
  if (pod.node === '') return reason('PodNotScheduled', { pod: name, why: pod.unscheduled });
  const unready = containers.find((container) => !container.ready);
  if (!pod.ready && unready !== undefined) {
    return reason('PodContainerNotReady', { pod: name, container: unready.name, state: unready.state, restarts: unready.restarts });
  }
  const [gate] = unmetGates;
  if (!pod.ready) return gate === undefined ? reason('PodNotReady', { pod: name }) : reason('PodGateNotMet', { pod: name, gate });
  const ports = new Set(containers.flatMap(({ portNames }) => portNames));
  const missing = [...named].find((port) => !ports.has(port));
  if (missing !== undefined) return reason('PodLacksPort', { pod: name, port: missing });
  return pod.addresses.some((address) => listed.has(address)) ? undefined : reason('PodNotListed', { pod: name });
}

function selectorOf({ selectorText }: Service): Labels {
  return Object.fromEntries(selectorText.split(',').map((term) => [term.slice(0, term.indexOf('=')), term.slice(term.indexOf('=') + 1)]));
}

/** Returns the selector keys whose values the labels do not have. */
function differing(selector: Labels, labels: Labels): string[] {
  return Object.keys(selector).filter((key) => labels[key] !== selector[key]);
}

/** Describes the Pod with the most matching labels, by its differing labels: "web-1 has app=webs". "" when no Pod has any of the keys. */
function nearestOf(selector: Labels, pods: readonly Pod[]): string {
  const candidates = pods
    .filter(({ labels }) => Object.keys(selector).some((key) => labels[key] !== undefined))
    .map((pod) => ({ pod, keys: differing(selector, pod.labels) }));
  const [best] = candidates.toSorted((a, b) => a.keys.length - b.keys.length || (a.pod.name < b.pod.name ? -1 : 1));
  if (best === undefined) return '';
  const values = best.keys.map((key) => (best.pod.labels[key] === undefined ? `no ${key}` : `${key}=${best.pod.labels[key]}`));
  return `${best.pod.name} has ${values.join(', ')}`;
}
