import assert from 'node:assert';
import type { Cloud } from '../../../cloud/cloud.ts';
import { AwsError } from '../../../cloud/error.ts';
import { isWrite, type Input, type Operation, type Output } from '../../../cloud/operations.ts';
import { membersOf } from '../../../desire/stack.ts';
import { namedAlbs, observeAlbs } from '../../../observe/account/albs.ts';
import { observeCertificates, observeFacts } from '../../../observe/account/facts.ts';
import { KnownResources } from '../../../observe/known-resources.ts';
import { reconcileStack } from '../../../stacks/reconcile-stack.ts';
import type { StackResult } from '../../../stacks/stack-result.ts';
import { RecentObservation } from '../../../observe/recent-observation.ts';
import { TargetRecords } from '../../../stacks/targets/target-records.ts';
import { Refusals } from '../../../stacks/execution/refusals.ts';
import { RepeatedWrites } from '../../../stacks/execution/repeated-writes.ts';
import type { ServiceMetadata } from '../../../model/service-metadata.ts';
import type { TargetPod } from '../../../model/pods.ts';
import { TargetPods } from '../../../observe/target-pods.ts';
import { defaultSettings, type AwsSettings } from '../../../model/settings.ts';
import { defined } from '../../../../../src/lang/defined.ts';
import type { ServiceKey } from '../../../../../src/model/objects/metadata.ts';
import { parseObject } from '../../../../../src/model/parse.ts';
import { Store } from '../../../../../src/model/store/store.ts';
import type { VirtualClock } from '../../../../../src/system/virtual-clock.ts';
import { clusterName, region, type Account } from '../account.ts';

/** An AWS account to test with: the fake, the emulator, or the real one. */
export interface AwsBackend {
  readonly cloud: Cloud;
  /** By which Herald calls, if its rights differ from those of the test. */
  readonly herald?: Cloud;
  readonly account: Account;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly wait: (seconds: number) => Promise<void>;
}

/** A virtual time that advances when a test waits. */
export function onVirtualTime(clock: VirtualClock): Pick<AwsBackend, 'now' | 'wait'> {
  return { now: () => clock.date().getTime(), wait: async (seconds) => clock.advance(seconds * 1000) };
}

/** The number of reconciles until a scenario must have converged. More are a failure. */
const defaultMaximumPasses = 40;

/** The provider connected to an AWS account. A scenario applies and removes Services, and reads the account through `cloud`. */
export class ScenarioFixture {
  readonly account: Account;
  /** Not used by the provider. A scenario uses it to read the account and to make changes by hand. */
  readonly cloud: Cloud;
  /** The write calls of the provider, in order. */
  readonly writes: { readonly operation: Operation; readonly input: unknown }[] = [];
  settings: AwsSettings;
  readonly #herald: Cloud;
  readonly #time: Pick<AwsBackend, 'now' | 'wait'>;
  readonly #store = new Store();
  /** Annotations that Herald writes to Services. */
  readonly #records = new TargetRecords(this.#metadata());
  readonly #known = new Map<string, KnownResources>();
  readonly #repeated = new Map<string, RepeatedWrites>();
  /** The Pods of the cluster by "namespace/name". `setPods` adds those of its endpoints. */
  readonly pods = new Map<string, TargetPod>();
  readonly #targetPods: TargetPods;
  readonly #mostPasses: number;
  readonly #disowned = new Set<string>();
  #throttled = 0;
  #created = 0;

  constructor({ cloud, herald = cloud, account, ...time }: AwsBackend, mostPasses = defaultMaximumPasses) {
    this.cloud = cloud;
    this.#herald = herald;
    this.account = account;
    this.#time = time;
    this.settings = { ...defaultSettings, clusterName, region, vpcId: account.vpcId, retireSeconds: 60 };
    this.#mostPasses = mostPasses;
    this.#targetPods = new TargetPods({ read: async (namespace, name) => this.pods.get(`${namespace}/${name}`) }, time.now);
    for (const index of account.nodes.keys()) this.addNode(index);
  }

  addNode(index: number): void {
    const { instance, zone } = this.account.nodes[index] ?? assert.fail(`the account has no node ${index}`);
    this.#put({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: `node-${index}`, uid: `node-${index}` },
      spec: { providerID: `aws:///${zone}/${instance}` },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    });
  }

  removeNode(index: number): void {
    this.#store.remove('Node', `node-${index}`);
  }

  /** Applies a Service manifest. Metadata that the API server sets is added. */
  apply(manifest: { readonly metadata: { readonly name: string; readonly namespace?: string }; readonly spec: object }): void {
    const { name, namespace = 'default' } = manifest.metadata;
    const key: ServiceKey = `${namespace}/${name}`;
    const creationTimestamp =
      this.#store.services.get(key)?.metadata.creationTimestamp ?? new Date(Date.UTC(2026, 0, 1, 0, 0, ++this.#created)).toISOString();
    const spec = { clusterIP: '10.96.0.9', ipFamilies: ['IPv4'], ...manifest.spec };
    this.#put({ apiVersion: 'v1', kind: 'Service', metadata: { ...manifest.metadata, namespace, uid: key, creationTimestamp }, spec });
    for (const stack of this.#stacks()) if (!this.#known.has(stack)) this.#known.set(stack, new KnownResources());
  }

  remove(key: ServiceKey): void {
    this.#store.remove('Service', key);
  }

  /** Sets the ready pods behind a port of a Service. */
  setPods(service: string, port: { readonly name: string; readonly port: number }, addresses: readonly string[]): void {
    for (const address of addresses) this.pods.set(`default/pod-${address}`, { addresses: [address], node: '', phase: 'Running' });
    this.#put({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: `${service}-1`, namespace: 'default', labels: { 'kubernetes.io/service-name': service } },
      addressType: 'IPv4',
      ports: [{ ...port, protocol: 'TCP' }],
      endpoints: addresses.map((address) => ({
        addresses: [address],
        conditions: { ready: true },
        targetRef: { kind: 'Pod', namespace: 'default', name: `pod-${address}` },
      })),
    });
  }

  /** Disowns the load balancer of the Service. */
  disown(key: ServiceKey): void {
    this.#disowned.add(key);
  }

  /** Removes all Services and waits until their resources are deleted. */
  async removeAll(): Promise<void> {
    for (const key of this.#store.services.keys()) this.remove(key);
    await this.settle();
  }

  /** Makes the next requests of the provider fail as throttled. */
  throttle(requests: number): void {
    this.#throttled = requests;
  }

  #repeatedOf(key: string): RepeatedWrites {
    const repeated = this.#repeated.get(key) ?? new RepeatedWrites();
    this.#repeated.set(key, repeated);
    return repeated;
  }

  /** Reconciles all stacks once. */
  async pass(): Promise<ReadonlyMap<string, StackResult>> {
    const cloud = this.#watched();
    const certificates = this.settings.certificateDiscovery ? await observeCertificates(this.#herald) : [];
    const facts = { ...(await observeFacts(this.#herald, this.settings)), certificates };
    const results = new Map<string, StackResult>();
    for (const [key, known] of this.#known) {
      const [namespace = '', name = ''] = key.replace(/^shared:/, '').split('/');
      const albs = await observeAlbs(this.#herald, namedAlbs(membersOf(key, this.#store, this.settings)));
      const circumstances = {
        facts: { ...facts, ...defined({ albs }) },
        settings: this.settings,
        nodes: [...this.#store.nodes.values()],
        backend: (key: ServiceKey) => this.#store.services.get(key),
        checkTargets: (services: readonly ServiceKey[]) => this.#targetPods.check(services, this.#store),
      };
      const input = {
        stack: { key, namespace, name },
        members: membersOf(key, this.#store, this.settings),
        intent: { kind: this.#disowned.has(key) ? 'disown' : 'serve' } as const,
        known,
        repeated: this.#repeatedOf(key),
        refused: new Refusals(),
        recent: new RecentObservation(),
        records: this.#records,
        circumstances,
        isVanished: () => false,
        now: this.#time.now(),
      };
      results.set(key, await reconcileStack(cloud, this.settings, input));
    }
    return results;
  }

  /**
   * Reconciles repeatedly, each time after the requested wait, until nothing is left to do or to wait for. `between` is called after each
   * reconcile.
   */
  async settle(between: () => Promise<void> = async () => undefined): Promise<ReadonlyMap<string, StackResult>> {
    let last: ReadonlyMap<string, StackResult> = new Map();
    for (let passes = 0; passes < this.#mostPasses; passes++) {
      try {
        last = await this.pass();
      } catch (error) {
        if (!(error instanceof AwsError && error.code === 'throttled')) throw error;
        await this.#time.wait(5);
        continue;
      }
      await between();
      const results = [...last.values()];
      const pause = Math.min(...results.map(({ requeueSeconds }) => requeueSeconds));
      if (pause >= driftSeconds && results.every(({ execution }) => execution.outcomes.length === 0)) return last;
      await this.#time.wait(pause);
    }
    const open = [...last].map(([stack, { plan, execution }]) => ({
      stack,
      plan: plan.actions.map(({ id, reason }) => `${id}: ${reason}`),
      waits: plan.waits,
      outcomes: execution.outcomes.map((one) => (one.result === 'failed' ? `${one.action.id}: ${one.error.message}` : one.result)),
    }));
    throw new Error(`no end after ${this.#mostPasses} passes: ${JSON.stringify(open, undefined, 1)}`);
  }

  /** Returns the write operations of the provider since the last call of this method. */
  takeWrites(): string[] {
    return this.writes.splice(0).map(({ operation }) => operation);
  }

  #put(object: object): void {
    const { object: parsed, problems } = parseObject(object);
    if (parsed === undefined) throw new Error(`the manifest cannot be read: ${JSON.stringify(problems)}`);
    this.#store.upsert(parsed);
  }

  /** The stacks of the present Services. */
  #stacks(): string[] {
    return [...this.#store.services.values()].flatMap(({ metadata: { namespace, name, annotations } }) => {
      const shared = annotations['herald.dev/aws-shared-load-balancer'];
      return shared === undefined ? [`${namespace}/${name}`] : [`shared:${shared.includes('/') ? shared : `${namespace}/${shared}`}`];
    });
  }

  #metadata(): ServiceMetadata {
    const nothing = async (): Promise<void> => undefined;
    const annotate = async (key: ServiceKey, wanted: Readonly<Record<string, string | undefined>>): Promise<boolean> => {
      const service = this.#store.services.get(key);
      if (service === undefined) return false;
      const entries = Object.entries({ ...service.metadata.annotations, ...wanted }).filter(([, value]) => value !== undefined);
      const annotations = Object.fromEntries(entries) as Record<string, string>;
      this.#store.upsert({ ...service, metadata: { ...service.metadata, annotations } });
      return true;
    };
    return { addFinalizer: nothing, removeFinalizer: nothing, annotate };
  }

  #watched(): Cloud {
    return {
      call: async <O extends Operation>(operation: O, input: Input<O>): Promise<Output<O>> => {
        if (this.#throttled > 0) {
          this.#throttled--;
          throw new AwsError({ code: 'throttled', operation, awsCode: 'Throttling', requestId: '', message: 'Rate exceeded' });
        }
        if (isWrite(operation)) this.writes.push({ operation, input });
        return this.#herald.call(operation, input);
      },
    };
  }
}

/** The requeue time of a reconcile with nothing to do (providers/aws/model/limits.ts). */
const driftSeconds = 300;
