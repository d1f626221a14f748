import assert from 'node:assert';
import type { Cloud } from '../../../providers/aws/cloud/cloud.ts';
import { AwsError } from '../../../providers/aws/cloud/error.ts';
import { isWrite, type Input, type Operation, type Output } from '../../../providers/aws/cloud/operations.ts';
import { membersOf } from '../../../providers/aws/desire/stack.ts';
import { observeCertificates, observeFacts } from '../../../providers/aws/observe/facts.ts';
import { KnownResources } from '../../../providers/aws/observe/known-resources.ts';
import { reconcileStack, type StackResult } from '../../../providers/aws/stacks/reconcile-stack.ts';
import { defaultSettings, type AwsSettings } from '../../../providers/aws/model/settings.ts';
import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import { parseObject } from '../../../src/model/parse.ts';
import { Store } from '../../../src/model/store/store.ts';
import type { VirtualClock } from '../../../src/system/virtual-clock.ts';
import { clusterName, region, type Account } from '../account.ts';

/** An AWS to work on: the fake, the emulator, or the real one. */
export interface AwsBackend {
  readonly cloud: Cloud;
  readonly account: Account;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly wait: (seconds: number) => Promise<void>;
}

/** A place whose time passes when it is waited for. */
export function onVirtualTime(clock: VirtualClock): Pick<AwsBackend, 'now' | 'wait'> {
  return { now: () => clock.date().getTime(), wait: async (seconds) => clock.advance(seconds * 1000) };
}

/** Passes until nothing is left to do are bounded: what does not come to an end is a failure of its own. */
const defaultMaximumPasses = 40;

/** The provider on an AWS, with Services that a scenario applies and removes. What is there is looked at through `cloud`. */
export class ScenarioFixture {
  readonly account: Account;
  /** Not what the provider asks for: for a scenario to look, and to do by hand what users do. */
  readonly cloud: Cloud;
  /** What the provider has asked AWS to change, in order. */
  readonly writes: { readonly operation: Operation; readonly input: unknown }[] = [];
  settings: AwsSettings;
  readonly #time: Pick<AwsBackend, 'now' | 'wait'>;
  readonly #store = new Store();
  readonly #known = new Map<string, KnownResources>();
  readonly #mostPasses: number;
  readonly #disowned = new Set<string>();
  #throttled = 0;
  #created = 0;

  constructor({ cloud, account, ...time }: AwsBackend, mostPasses = defaultMaximumPasses) {
    this.cloud = cloud;
    this.account = account;
    this.#time = time;
    this.settings = { ...defaultSettings, clusterName, region, vpcId: account.vpcId, retireSeconds: 60 };
    this.#mostPasses = mostPasses;
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

  /** A Service manifest; the API server's part of its metadata is added. */
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

  /** The pods behind a port of a Service, all of them ready. */
  setPods(service: string, port: { readonly name: string; readonly port: number }, addresses: readonly string[]): void {
    this.#put({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: `${service}-1`, namespace: 'default', labels: { 'kubernetes.io/service-name': service } },
      addressType: 'IPv4',
      ports: [{ ...port, protocol: 'TCP' }],
      endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
    });
  }

  /** The Service lets go of what was made for it. */
  disown(key: ServiceKey): void {
    this.#disowned.add(key);
  }

  /** All Services, and everything that was made for them. */
  async removeAll(): Promise<void> {
    for (const key of this.#store.services.keys()) this.remove(key);
    await this.settle();
  }

  /** As many requests of the provider as this are refused as too many. */
  throttle(requests: number): void {
    this.#throttled = requests;
  }

  /** One pass over everything. */
  async pass(): Promise<ReadonlyMap<string, StackResult>> {
    const cloud = this.#watched();
    const certificates = this.settings.certificateDiscovery ? await observeCertificates(this.cloud) : [];
    const facts = { ...(await observeFacts(this.cloud, this.settings)), certificates };
    const results = new Map<string, StackResult>();
    for (const [key, known] of this.#known) {
      const [namespace = '', name = ''] = key.replace(/^shared:/, '').split('/');
      const circumstances = {
        facts,
        settings: this.settings,
        nodes: [...this.#store.nodes.values()],
        slices: (key: ServiceKey) => this.#store.endpointSlices(key),
      };
      const input = {
        stack: { key, namespace, name },
        members: membersOf(key, this.#store, this.settings),
        disown: this.#disowned.has(key),
        known,
        circumstances,
        isVanished: () => false,
        now: this.#time.now(),
      };
      results.set(key, await reconcileStack(cloud, this.settings, input));
    }
    return results;
  }

  /** Passes, each when the one before has asked for it, until none does or awaits anything. `between` looks at what stands after each. */
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

  /** What the provider has asked to be changed since the last call of this. */
  takeWrites(): string[] {
    return this.writes.splice(0).map(({ operation }) => operation);
  }

  #put(object: object): void {
    const { object: parsed, problems } = parseObject(object);
    if (parsed === undefined) throw new Error(`the manifest cannot be read: ${JSON.stringify(problems)}`);
    this.#store.upsert(parsed);
  }

  /** Those that Services are in now. */
  #stacks(): string[] {
    return [...this.#store.services.values()].flatMap(({ metadata: { namespace, name, annotations } }) => {
      const shared = annotations['herald.dev/aws-shared-load-balancer'];
      return shared === undefined ? [`${namespace}/${name}`] : [`shared:${namespace}/${shared}`];
    });
  }

  #watched(): Cloud {
    return {
      call: async <O extends Operation>(operation: O, input: Input<O>): Promise<Output<O>> => {
        if (this.#throttled > 0) {
          this.#throttled--;
          throw new AwsError({ code: 'throttled', operation, awsCode: 'Throttling', requestId: '', message: 'Rate exceeded' });
        }
        if (isWrite(operation)) this.writes.push({ operation, input });
        return this.cloud.call(operation, input);
      },
    };
  }
}

/** A pass that finds nothing to do asks for the next one after this (providers/aws/model/limits.ts). */
const driftSeconds = 300;
