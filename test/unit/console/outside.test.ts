import { describe, expect, test } from 'vitest';
import type { OutsideResources } from '../../../src/console/picture.ts';
import { limits } from '../../../src/console/limits.ts';
import { outsideView } from '../../../src/console/views/outside.ts';
import type { OutsideResource } from '../../../src/model/objects/outside-resource.ts';

type Health = OutsideResource['health'];

/** A load balancer with one listener and one target group. */
function stack(name: string, targets: readonly Health[], health: Health = 'good'): OutsideResource[] {
  const of = (kind: OutsideResource['kind'], id: string, to: readonly string[], own = health): OutsideResource => ({
    id: `${name} ${id}`,
    kind,
    name: kind === 'listener' ? 'TCP 80' : `${name}-${id}`,
    detail: id,
    health: own,
    to: to.map((one) => `${name} ${one}`),
    ...(own === 'good' ? {} : { why: `it is ${own}` }),
  });
  return [
    of('loadBalancer', 'lb', ['listener']),
    of('listener', 'listener', ['group']),
    of(
      'targetGroup',
      'group',
      targets.map((_, index) => `target${index}`),
    ),
    ...targets.map((own, index) => of('target', `target${index}`, [], own)),
  ];
}

const resources = (...stacks: readonly (readonly OutsideResource[])[]): OutsideResources => ({
  services: stacks.map((one, index) => ({ service: `shop/s${index}`, resources: one })),
  notes: [],
});

describe('the resources outside the cluster', () => {
  test('are boxes from left to right, those with a problem first, each arrow with the health of its end', () => {
    const { boxes, arrows } = outsideView(resources(stack('a', ['good', 'bad'], 'doubtful')));
    expect(boxes.map(({ id, health }) => [id, health])).toEqual([
      ['a lb', 'doubtful'],
      ['a listener', 'doubtful'],
      ['a group', 'doubtful'],
      ['a target1', 'bad'],
      ['a target0', 'good'],
    ]);
    expect(arrows).toEqual([
      { from: 'a lb', to: 'a listener', health: 'doubtful' },
      { from: 'a listener', to: 'a group', health: 'doubtful' },
      { from: 'a group', to: 'a target1', health: 'bad' },
      { from: 'a group', to: 'a target0', health: 'good' },
    ]);
    expect(boxes[3]).toMatchObject({ why: 'it is bad', names: ['a-target1'], count: 1, services: ['shop/s0'] });
  });

  test('are drawn once when several Services share them', () => {
    const shared = stack('a', ['good']);
    const { boxes, arrows } = outsideView(resources(shared, shared));
    expect(boxes.map(({ id, services }) => [id, services])).toEqual(
      ['a lb', 'a listener', 'a group', 'a target0'].map((id) => [id, ['shop/s0', 'shop/s1']]),
    );
    expect(arrows).toHaveLength(3);
  });

  test('are drawn one by one up to the limit, and alike ones share a box beyond it', () => {
    const many = (count: number): readonly Health[] => Array.from({ length: count }, (_, index) => (index === 7 ? 'bad' : 'good'));
    const targets = (count: number) => outsideView(resources(stack('a', many(count)))).boxes.filter(({ kind }) => kind === 'target');
    expect(targets(limits.fabricNodes)).toHaveLength(limits.fabricNodes);
    expect(targets(limits.fabricNodes + 1).map(({ count, health }) => [count, health])).toEqual([
      [1, 'bad'],
      [limits.fabricNodes, 'good'],
    ]);
  });

  test('alike ones of many load balancers share a box in every column, and each arrow leads from box to box', () => {
    const stacks = Array.from({ length: 60 }, (_, index) =>
      stack(`s${index}`, [index === 3 ? 'bad' : 'good'], index === 3 ? 'bad' : 'good'),
    );
    const { boxes, arrows } = outsideView(resources(...stacks));
    expect(boxes.map(({ kind, count, health }) => `${kind} ${count} ${health}`)).toEqual(
      ['loadBalancer', 'listener', 'targetGroup', 'target'].flatMap((kind) => [`${kind} 1 bad`, `${kind} 59 good`]),
    );
    expect(boxes[1]).toMatchObject({ names: { length: limits.groupNames }, services: { length: limits.sharers } });
    expect(arrows).toHaveLength(6);
    expect(arrows.filter(({ health }) => health === 'bad')).toEqual([
      { from: 's3 lb', to: 's3 listener', health: 'bad' },
      { from: 's3 listener', to: 's3 group', health: 'bad' },
      { from: 's3 group', to: 's3 target0', health: 'bad' },
    ]);
  });

  test('that differ too much are left out with their number, those with a problem last', () => {
    const kinds = Array.from({ length: limits.fabricNodes + 1 }, (_, index): OutsideResource => ({
      id: `l${index}`,
      kind: 'listener',
      name: `TCP ${index}`,
      detail: '',
      health: index === 40 ? 'bad' : 'good',
      to: [],
    }));
    const { boxes, notes } = outsideView({ services: [{ service: 'shop/web', resources: kinds }], notes: ['a note'] });
    expect(boxes).toHaveLength(limits.fabricGroups);
    expect(boxes[0]?.id).toBe('l40');
    expect(notes).toEqual([
      'a note',
      `${limits.fabricNodes + 1 - limits.fabricGroups} more resources outside the cluster are not drawn: explain their Services.`,
    ]);
  });
});
