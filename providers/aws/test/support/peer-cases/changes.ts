import { decideAwsClaim } from '../../../../../providers/aws/desire/claim.ts';
import { memberOf, stackOf, type Member } from '../../../../../providers/aws/desire/stack.ts';
import { clusterConfig } from '../../../../../src/model/kinds/default-config.ts';
import type { Reason } from '../../../../../src/model/reasons.ts';
import { StackFixture } from '../stack-fixture.ts';
import type { Parts } from './case-files.ts';
import { nodeOf, serviceOf, settingsOf, type Drift, type Given, type ServiceInput } from './inputs.ts';

/** Calls to the load balancing APIs, except those for tags. */
const counted = /^elb(?:v2)?:(?!AddTags|RemoveTags)/;

/**
 * Creates the load balancer of a Service, edits the Service, and reconciles until nothing is left to do. Returns which resources stayed, were
 * modified or were replaced, the calls, and the state at the end.
 */
export async function changesOf(before: ServiceInput, after: ServiceInput, given: Given, drift: Drift): Promise<Parts> {
  const account = new StackFixture();
  // The controllers that are compared deregister the last targets at once.
  account.settings = { ...settingsOf(given), lastTargetSeconds: 0 };
  const nodes = (list: readonly string[] | undefined): void => {
    if (list !== undefined) account.nodes = list.map(nodeOf);
  };
  nodes(given.nodesBefore ?? given.nodes);
  await settle(account, memberOfInput(before, given));
  apply(account, drift);
  const state = stateOf(account);
  const calls = account.cloud.writes.length;
  nodes(given.nodes);
  const member = memberOfInput(after, given);
  if (member.errors.length > 0) return { refused: codesOf(member.errors) };
  const { errors } = await settle(account, member);
  if (errors.size > 0) return { refused: codesOf([...errors.values()].flat()) };
  const operations = account.cloud.writes.slice(calls).map(({ operation }) => operation);
  return {
    ...compared(state, stateOf(account)),
    calls: [...new Set(operations.filter((name) => counted.test(name)).map((name) => name.replace(/^\w+:/, '')))].toSorted(),
    ...endOf(account),
  };
}

function memberOfInput(input: ServiceInput, given: Given): Member {
  const service = serviceOf(input, given);
  if (service === undefined) throw new RangeError('not a valid Service');
  const claim = decideAwsClaim(service, clusterConfig, settingsOf(given));
  if (!claim.mine) throw new RangeError('not a Service of AWS');
  return memberOf(service, claim.kind);
}

const settle = (account: StackFixture, member: Member): ReturnType<StackFixture['settle']> => account.settle(stackOf(member), [member]);

const codesOf = (reasons: readonly Reason[]): string[] => [...new Set(reasons.map(({ code }) => code))].toSorted();

function apply({ world }: StackFixture, { tags = {}, targetGroupAttributes = {}, attributes = {} }: Drift): void {
  for (const [arn, { attributes: own }] of world.loadBalancers) {
    for (const [key, value] of Object.entries(tags)) world.tags.get(arn)?.set(key, value);
    for (const [key, value] of Object.entries(attributes)) own.set(key, value);
  }
  for (const { attributes: own } of world.targetGroups.values())
    for (const [key, value] of Object.entries(targetGroupAttributes)) own.set(key, value);
}

/** Resources by part and port: who they are, and what they are like. */
type State = Readonly<Record<'loadBalancer' | 'listeners' | 'targetGroups', ReadonlyMap<string, Snapshot>>>;

interface Snapshot {
  readonly id: string;
  readonly value: string;
}

function stateOf({ world }: StackFixture): State {
  const classic = [...world.classic].map(([id, { value }]): [string, Snapshot] => ['', { id, value: value.Scheme }]);
  const nlbs = [...world.loadBalancers].map(([id, { value }]): [string, Snapshot] => ['', { id, value: value.Scheme }]);
  const ofClassic = [...world.classic.values()].flatMap(({ value }) =>
    value.ListenerDescriptions.map(({ Listener }): [string, Snapshot] => {
      const { LoadBalancerPort, ...rest } = Listener;
      // AWS cannot change a listener of a Classic ELB, so one that differs is another one.
      return [`${LoadBalancerPort}`, { id: JSON.stringify(rest), value: '' }];
    }),
  );
  const ofNlbs = [...world.listeners].map(([id, { value }]): [string, Snapshot] => [`${value.Port}`, { id, value: JSON.stringify(value) }]);
  const groups = [...world.targetGroups].map(([id, { value, attributes }]): [string, Snapshot] => {
    const { LoadBalancerArns: _, ...rest } = value;
    return [portOfGroup(world, id), { id, value: JSON.stringify([rest, [...attributes].toSorted(([a], [b]) => (a < b ? -1 : 1))]) }];
  });
  return { loadBalancer: new Map([...classic, ...nlbs]), listeners: new Map([...ofClassic, ...ofNlbs]), targetGroups: new Map(groups) };
}

function portOfGroup({ tags }: StackFixture['world'], arn: string): string {
  return /:(\d+)\/\w+$/.exec(tags.get(arn)?.get('herald.dev/resource') ?? '')?.[1] ?? arn;
}

function compared(before: State, after: State): Parts {
  const change = (part: keyof State, key: string): string => {
    const [old, now] = [before[part].get(key), after[part].get(key)];
    if (old === undefined) return 'created';
    if (now === undefined) return 'deleted';
    if (old.id !== now.id) return 'replaced';
    return old.value === now.value ? 'kept' : 'modified';
  };
  const changes = (part: keyof State): Parts =>
    Object.fromEntries([...new Set([...before[part].keys(), ...after[part].keys()])].map((key) => [key, change(part, key)]));
  return { loadBalancer: change('loadBalancer', ''), listeners: changes('listeners'), targetGroups: changes('targetGroups') };
}

/** The state at the end, as far as cases name it. */
function endOf({ world }: StackFixture): Parts {
  const [nlb] = world.loadBalancers;
  const [classic = ''] = world.classic.keys();
  const [group] = world.targetGroups.values();
  const tags = Object.fromEntries(world.tags.get(nlb?.[0] ?? `classic/${classic}`) ?? []);
  return {
    ownTags: Object.fromEntries(Object.entries(tags).filter(([key]) => !key.startsWith('herald.dev/'))),
    targetGroupAttributes: Object.fromEntries(group?.attributes ?? []),
    balancerAttributes: Object.fromEntries(nlb?.[1].attributes ?? []),
    targets: [...(group?.targets.values() ?? [])]
      .filter(({ drainingSince }) => drainingSince === undefined)
      .map(({ target }) => `${target.Id}:${target.Port}`)
      .toSorted(),
    alpn: [...world.listeners.values()][0]?.value.AlpnPolicy?.[0] ?? 'None',
  };
}
