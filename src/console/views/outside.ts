import { defined } from '../../lang/defined.ts';
import type { OutsideResource } from '../../model/objects/outside-resource.ts';
import type { Health, OutsideArrow, OutsideBox, OutsideView } from '../contract.ts';
import { limits } from '../limits.ts';
import type { OutsideResources } from '../picture.ts';

/** From left to right. */
const kinds: readonly OutsideResource['kind'][] = ['loadBalancer', 'listener', 'targetGroup', 'target'];

/** By the ID of a resource: the boxes that lead to it. */
type Leading = Map<string, Set<string>>;

/** Draws load balancers, listeners, target groups and targets. Of a kind with too many to draw one by one, alike ones share a box. */
export function outsideView({ services, notes }: OutsideResources): OutsideView {
  const served = servicesByResource(services);
  const resources = [...new Map(services.flatMap((one) => one.resources.map((resource) => [resource.id, resource]))).values()];
  const leading: Leading = new Map();
  const boxes: OutsideBox[] = [];
  const arrows: OutsideArrow[] = [];
  let left = 0;
  for (const kind of kinds) {
    const all = resources.filter((one) => one.kind === kind);
    const isMany = all.length > limits.fabricNodes;
    const alike = Map.groupBy(all, (one) => (isMany ? characterOf(one, leading) : one.id));
    const sorted = [...alike.values()].toSorted((a, b) => rankOf(a) - rankOf(b));
    const drawn = isMany ? sorted.slice(0, limits.fabricGroups) : sorted;
    left += sorted.slice(drawn.length).reduce((sum, members) => sum + members.length, 0);
    for (const members of drawn) {
      const box = boxOf(members, served);
      boxes.push(box);
      const from = new Set(members.flatMap(({ id }) => [...(leading.get(id) ?? [])]));
      arrows.push(...[...from].map((one) => ({ from: one, to: box.id, health: box.health })));
      for (const { to } of members) for (const id of to) leading.set(id, (leading.get(id) ?? new Set()).add(box.id));
    }
  }
  const more = left === 0 ? [] : [`${left} more resources outside the cluster are not drawn: explain their Services.`];
  return { boxes, arrows, notes: [...notes, ...more] };
}

/** A stack that several Services share is listed with each of them. */
function servicesByResource(services: OutsideResources['services']): ReadonlyMap<string, readonly string[]> {
  const served = new Map<string, string[]>();
  for (const { service, resources } of services) for (const { id } of resources) served.set(id, [...(served.get(id) ?? []), service]);
  return served;
}

/** Equal for resources of one kind that are alike: same state, behind the same boxes. Ports tell listeners apart; names are all different else. */
function characterOf({ id, kind, name, health, why = '' }: OutsideResource, leading: Leading): string {
  return JSON.stringify([kind === 'listener' ? name : '', health, why, [...(leading.get(id) ?? [])].toSorted()]);
}

function boxOf(members: readonly OutsideResource[], served: ReadonlyMap<string, readonly string[]>): OutsideBox {
  const [first] = members;
  if (first === undefined) throw new RangeError('a box without a resource');
  const { id, kind, detail, health, why } = first;
  const services = new Set(members.flatMap((one) => served.get(one.id) ?? []));
  return {
    id,
    kind,
    detail: members.length === 1 ? detail : '',
    health,
    ...defined({ why }),
    names: members.slice(0, limits.groupNames).map(({ name }) => name),
    count: members.length,
    services: [...services].slice(0, limits.sharers),
  };
}

const gravity: Readonly<Record<Health, number>> = { bad: 0, doubtful: 1, unknown: 2, good: 3, off: 3 };

function rankOf([first]: readonly OutsideResource[]): number {
  return first === undefined ? 0 : gravity[first.health];
}
