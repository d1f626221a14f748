import { addBuiltInProviders } from '../../../../test/support/built-in-providers.ts';
import assert from 'node:assert';
import { defined } from '../../../../src/lang/defined.ts';
import { KnownResources } from '../../../../providers/aws/observe/known-resources.ts';
import { namedAddresses, observeAddresses } from '../../../../providers/aws/observe/account/addresses.ts';
import { namedAlbs, observeAlbs } from '../../../../providers/aws/observe/account/albs.ts';
import { observeCertificates, observeFacts } from '../../../../providers/aws/observe/account/facts.ts';
import { observeSslPolicy } from '../../../../providers/aws/observe/account/ssl-policies.ts';
import { scanOwned } from '../../../../providers/aws/observe/scan.ts';
import { RecentObservation } from '../../../../providers/aws/observe/recent-observation.ts';
import { TargetRecords } from '../../../../providers/aws/stacks/targets/target-records.ts';
import { Refusals } from '../../../../providers/aws/stacks/execution/refusals.ts';
import { RepeatedWrites } from '../../../../providers/aws/stacks/execution/repeated-writes.ts';
import { reconcileStack } from '../../../../providers/aws/stacks/reconcile-stack.ts';
import type { StackResult } from '../../../../providers/aws/stacks/stack-result.ts';
import { memberOf, stackOf, type Member } from '../../../../providers/aws/desire/stack.ts';
import type { StackIdentity } from '../../../../providers/aws/model/circumstances.ts';
import type { BalancerKind } from '../../../../providers/aws/annotations/entry.ts';
import { defaultSettings, type AwsSettings } from '../../../../providers/aws/model/settings.ts';
import type { Node } from '../../../../src/model/objects/cluster.ts';
import type { EndpointSlice } from '../../../../src/model/objects/endpoint-slice.ts';
import { balancerPrefix } from '../../../../providers/aws/annotations/entry.ts';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import { FakeCloud } from '../moto/fake/cloud.ts';
import { populate, vpcId } from '../moto/fake/world.ts';
import { metadata, service, type ServiceLiteral } from '../../../../test/unit/decisions/fixtures.ts';

addBuiltInProviders();

export const settings: AwsSettings = { ...defaultSettings, clusterName: 'test', region: 'us-east-1', vpcId, retireSeconds: 60 };

export const acmCertificate = 'arn:aws:acm:us-east-1:123456789012:certificate/12345678-1234-1234-1234-123456789012';
export const otherCertificate = 'arn:aws:acm:us-east-1:123456789012:certificate/22222222-2222-2222-2222-222222222222';

export interface AwsServiceLiteral extends ServiceLiteral {
  /** Keys without a "/" get the prefix "service.beta.kubernetes.io/aws-load-balancer-". */
  readonly annotations?: Readonly<Record<string, string>>;
  readonly createdAt?: string;
}

export function awsMember(kind: BalancerKind, { annotations = {}, createdAt = '', ...literal }: AwsServiceLiteral): Member {
  const plain = service(literal);
  const keyed = Object.entries(annotations).map(([key, value]) => [key.includes('/') ? key : `${balancerPrefix}${key}`, value]);
  return memberOf(
    { ...plain, metadata: { ...plain.metadata, annotations: Object.fromEntries(keyed), creationTimestamp: createdAt } },
    kind,
  );
}

export function node(index: number, overrides: Partial<Node> = {}): Node {
  return {
    kind: 'Node',
    metadata: metadata(`node-${index}`),
    internalIPs: [],
    podCIDRs: [],
    networkUnavailable: false,
    ready: true,
    toBeDeleted: false,
    providerID: `aws:///us-east-1${'abc'[index % 3]}/i-0000000${index}`,
    ...overrides,
  };
}

/** An account, the controller's memory of one stack, and time. `restart` loses the memory, as a crash does. */
export class StackFixture {
  readonly cloud = new FakeCloud();
  known = new KnownResources();
  repeated = new RepeatedWrites();
  refused = new Refusals();
  recent = new RecentObservation();
  /** Every write of an annotation succeeds. */
  records = new TargetRecords({ addFinalizer: async () => undefined, removeFinalizer: async () => undefined, annotate: async () => true });
  nodes: Node[] = [0, 1, 2].map((index) => node(index));
  slices: EndpointSlice[] = [];
  settings = settings;

  constructor() {
    populate(this.cloud.world);
  }

  get world(): FakeCloud['world'] {
    return this.cloud.world;
  }

  async restart(stack: StackIdentity): Promise<void> {
    this.repeated = new RepeatedWrites();
    this.refused = new Refusals();
    this.recent = new RecentObservation();
    const owned = await scanOwned(this.cloud, this.settings);
    this.known = new KnownResources((owned.get(stack.key) ?? []).map(({ id }) => id));
  }

  async reconcile(stack: StackIdentity, members: readonly Member[], disown = false): Promise<StackResult> {
    const certificates = this.settings.certificateDiscovery ? await observeCertificates(this.cloud) : [];
    const addresses = await observeAddresses(this.cloud, this.settings, namedAddresses(members));
    const albs = await observeAlbs(this.cloud, namedAlbs(members));
    const sslPolicies = new Map<string, boolean>();
    for (const { values } of members) {
      const exists = values.sslPolicy === undefined ? undefined : await observeSslPolicy(this.cloud, values.sslPolicy);
      if (exists !== undefined) sslPolicies.set(values.sslPolicy ?? '', exists);
    }
    const facts = { ...(await observeFacts(this.cloud, this.settings)), certificates, sslPolicies, ...defined({ addresses, albs }) };
    const circumstances = {
      facts,
      settings: this.settings,
      nodes: this.nodes,
      checkTargets: async () => ({
        slices: (key: ServiceKey) => this.slices.filter(({ service }) => service === key),
        refusedTargets: () => [],
      }),
    };
    return reconcileStack(this.cloud, this.settings, {
      stack,
      members,
      intent: { kind: disown ? 'disown' : 'serve' },
      known: this.known,
      repeated: this.repeated,
      refused: this.refused,
      recent: this.recent,
      records: this.records,
      circumstances,
      isVanished: () => false,
      now: this.world.clock.date().getTime(),
    });
  }

  /** Reconciles, each time after the time that the last result asks for, until nothing is written or waited for. */
  async settle(stack: StackIdentity, members: readonly Member[], limit = 60): Promise<StackResult & { readonly passes: number }> {
    for (let passes = 1; passes <= limit; passes++) {
      const result = await this.reconcile(stack, members);
      const writes = result.execution.outcomes.length;
      const isUnsettled = result.requeueSeconds < 300;
      if (writes === 0 && !isUnsettled) return { ...result, passes };
      this.advance(result.requeueSeconds);
    }
    const last = await this.reconcile(stack, members);
    assert.fail(
      `no fixed point after ${limit} passes; still: ${JSON.stringify([last.plan, last.execution.outcomes.map(({ result }) => result)], undefined, 1)}`,
    );
  }

  advance(seconds: number): void {
    this.world.clock.advance(seconds * 1000);
  }

  /** Ids of all existing resources with our tag. */
  owned(): string[] {
    const { world } = this;
    const present = (id: string): boolean =>
      world.loadBalancers.has(id) ||
      world.targetGroups.has(id) ||
      world.listeners.has(id) ||
      world.securityGroups.has(id) ||
      world.classic.has(id.replace('classic/', ''));
    return [...world.tags].filter(([id, tags]) => tags.get('herald.dev/cluster') === 'test' && present(id)).map(([id]) => id);
  }
}

/** The host name of the first Service. */
export function hostnameOf({ servingStatus }: StackResult): string | undefined {
  return [...servingStatus.values()][0]?.hostname;
}

export function single(member: Member): { readonly stack: StackIdentity; readonly members: readonly Member[] } {
  return { stack: stackOf(member), members: [member] };
}
