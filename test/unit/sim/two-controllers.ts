import { BareMetalProvider } from '../../../providers/bare-metal/provider.ts';
import { Controller } from '../../../src/controller/controller.ts';
import type { Reconciliation } from '../../../src/controller/provider.ts';
import { decideForwarding } from '../../../src/decisions/forwarding/plan.ts';
import { Election } from '../../../src/kube/election/election.ts';
import { fencedClient, type RequestsAndPages } from '../../../src/kube/client/fenced-client.ts';
import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import { parseObject } from '../../../src/model/parse.ts';
import type { Service } from '../../../src/model/objects/service.ts';
import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import { Store } from '../../../src/model/store/store.ts';
import { formatAddress } from '../../../src/net/address.ts';
import { KubernetesStatusWriter } from '../../../src/sources/kubernetes/records/status-writer.ts';
import type { Clock } from '../../../src/system/clock.ts';
import { silentLog } from '../../../src/system/log.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';
import { config, node, pool } from '../decisions/fixtures.ts';
import { FakeLeaseServer } from '../kube/election/fake-lease-server.ts';
import { FakeServices } from '../sources/kubernetes/fake-services.ts';
import { TestSource } from '../test-source.ts';

/** Pauses a process, as SIGSTOP or a paused virtual machine does. Nothing of it continues until it is resumed. */
class Gate {
  /** Number of times that the process passed it. */
  passed = 0;
  /** The pass at which the process pauses. Undefined: never. */
  stopAt: number | undefined;
  /** Called at each pass except those that concern the Lease. */
  onStep: () => void = () => undefined;
  readonly #held: (() => void)[] = [];
  #stopped = false;

  get stopped(): boolean {
    return this.#stopped;
  }

  async pass(isStep = true): Promise<void> {
    this.passed++;
    if (isStep) this.onStep();
    if (this.passed === this.stopAt) this.#stopped = true;
    if (this.#stopped) await new Promise<void>((resolve) => this.#held.push(resolve));
  }

  /** Runs the work at once, or when the process resumes. */
  run(work: () => void): void {
    if (this.#stopped) this.#held.push(work);
    else work();
  }

  wake(): void {
    this.#stopped = false;
    for (const work of this.#held.splice(0)) work();
  }
}

/** `herald controller`, in which each request has two steps: before it takes effect, and before its answer arrives. */
class Process {
  readonly gate = new Gate();
  readonly source = new TestSource(pool({ name: 'main', addresses: ['192.0.2.1-192.0.2.9'] }), config({}));
  readonly election: Election;
  /** Number of status writes that have begun. */
  begun = 0;
  leads = false;
  lost = false;
  readonly #world: World;
  readonly #clock: Clock;

  constructor(world: World, identity: string) {
    this.#world = world;
    const { gate } = this;
    this.#clock = {
      now: () => world.clock.now(),
      date: () => world.clock.date(),
      after: (milliseconds, callback) => world.clock.after(milliseconds, () => gate.run(callback)),
    };
    const leases = world.leases.client();
    this.election = new Election(
      {
        client: this.#client(
          {
            get: leases.get.bind(leases),
            write: leases.write.bind(leases),
            page: () => Promise.reject(new Error('the election lists nothing')),
          },
          false,
        ),
        watch: () => undefined,
        clock: this.#clock,
        random: () => 0.5,
        log: silentLog,
      },
      { lease: { namespace: 'herald-system', name: 'herald-controller' }, identity },
    );
  }

  /** Handles the changes that the watch reports, in order. */
  hear(key: string, raw: unknown): void {
    this.gate.run(() => {
      const object = raw === undefined ? undefined : parseObject(raw).object;
      const before = this.source.find('Service', key);
      if (object !== undefined) this.source.put(object);
      else if (before !== undefined) this.source.remove(before);
    });
  }

  async run(): Promise<void> {
    const { gate, source } = this;
    if (!(await this.election.campaign())) return;
    await gate.pass();
    this.leads = true;
    void this.election.lost.then(() => (this.lost = true));
    const counting: RequestsAndPages = {
      get: (path, query, signal) => this.#client(this.#world.services).get(path, query, signal),
      page: (path, table, query, signal) => this.#client(this.#world.services).page(path, table, query, signal),
      write: (write, signal) => {
        this.begun++;
        return this.#client(this.#noted).write(write, signal);
      },
    };
    const client = fencedClient(counting, this.election);
    const writer = new KubernetesStatusWriter({ client, snapshot: source.snapshot, clock: this.#clock, log: silentLog });
    class GatedProvider extends BareMetalProvider {
      override async reconcile(service: Service, snapshot: Snapshot): Promise<Reconciliation> {
        // The part before the first wait is the decision.
        const decided = super.reconcile(service, snapshot);
        await gate.pass();
        return decided;
      }
    }
    const components = { source, providers: [new GatedProvider()], writer, clock: this.#clock, random: () => 0.5, log: silentLog };
    const controller = new Controller(components);
    void this.election.lost.then(() => controller.stop());
    await controller.start().catch(() => undefined);
  }

  /** The API server; it records which process's write took effect. */
  readonly #noted: RequestsAndPages = {
    get: (path) => this.#world.services.get(path),
    page: (path, table) => this.#world.services.page(path, table),
    write: async (write) => {
      const answer = await this.#world.services.write(write);
      this.#world.wrote(this, write.path);
      return answer;
    },
  };

  #client(server: RequestsAndPages, isStep = true): RequestsAndPages {
    const { gate } = this;
    const halves = async <T>(request: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> => {
      await gate.pass(isStep);
      // Bytes in transit cannot be recalled.
      const answer = request().then(
        (value) => ({ value }),
        (error: unknown) => ({ error }),
      );
      const result = await answer;
      await gate.pass(isStep);
      signal?.throwIfAborted();
      if ('error' in result) throw result.error;
      return result.value;
    };
    return {
      get: (path, query, signal) => halves(() => server.get(path, query), signal),
      page: (path, table, query, signal) => halves(() => server.page(path, table, query), signal),
      write: (write, signal) => halves(() => server.write(write), signal),
    };
  }
}

/** An API server and two controllers, one of which leads. */
export class World {
  readonly clock = new VirtualClock();
  readonly leases = new FakeLeaseServer();
  readonly services = new FakeServices();
  readonly first: Process;
  readonly second: Process;
  /** The successive recorded addresses of each Service. */
  readonly history = new Map<string, string[]>();
  /** Services that had an address while another one had it. */
  readonly doubled = new Set<string>();
  readonly violations: string[] = [];
  readonly #ofSecond = new Set<string>();
  /** The state that an agent knows. */
  readonly #agent = new Store();

  constructor() {
    this.#agent.upsert(node({ name: 'n1' }));
    this.first = new Process(this, 'first');
    this.second = new Process(this, 'second');
    this.services.changed = (key, raw) => {
      for (const one of [this.first, this.second]) one.hear(key, raw);
      const object = raw === undefined ? undefined : parseObject(raw).object;
      if (object !== undefined) this.#agent.upsert(object);
      else this.#agent.remove('Service', key);
      this.#look(key);
    };
  }

  /** Creates or changes a Service as its owner does. `created`: second of its creation. */
  put(name: string, type: 'LoadBalancer' | 'ClusterIP', created: number): void {
    const creationTimestamp = `2026-01-01T00:00:${String(created).padStart(2, '0')}Z`;
    const spec = {
      type,
      ...(type === 'LoadBalancer' ? { loadBalancerClass: 'herald.dev/herald' } : {}),
      clusterIP: `10.96.0.${created + 1}`,
      ports: [{ port: 80 }],
    };
    this.services.put(`n/${name}`, { spec, metadata: { creationTimestamp } }, `uid-${name}`);
  }

  /** Advances the clock for both processes; requests are answered in between. */
  async pass(milliseconds: number): Promise<void> {
    for (let left = milliseconds; left > 0; left -= 1000) {
      await turn();
      this.clock.advance(Math.min(1000, left));
    }
    await turn();
  }

  /** Checks that a write of the next leader is not overwritten by a leader that decided before it. */
  wrote(by: Process, path: string): void {
    if (by === this.second) this.#ofSecond.add(path);
    else if (this.#ofSecond.has(path)) this.violations.push(`${path} is written over by the one that led before`);
  }

  addressesOf(key: string): string[] {
    return (this.#agent.services.get(key as ServiceKey)?.ingress ?? []).flatMap(({ address }) =>
      address === undefined ? [] : [formatAddress(address)],
    );
  }

  /** After each change, computes the addresses that an agent would forward and so announce. */
  #look(changed: string): void {
    const list = this.history.get(changed) ?? [];
    const [now = ''] = this.addressesOf(changed);
    if (now !== (list.at(-1) ?? '')) this.history.set(changed, [...list, now]);
    for (const service of this.#agent.services.values()) {
      for (const { address } of service.ingress) {
        const holders = address === undefined ? [] : this.#agent.holdersOf(address);
        if (address === undefined || holders.length < 2) continue;
        for (const holder of holders) this.doubled.add(holder);
        const forwarding = holders.filter((holder) => this.#forwards(holder, formatAddress(address)));
        if (forwarding.length !== 1) this.violations.push(`${formatAddress(address)} is forwarded for ${forwarding.join(' and ')}`);
      }
    }
  }

  #forwards(key: ServiceKey, address: string): boolean {
    const service = this.#agent.services.get(key);
    const frontends = service === undefined ? [] : (decideForwarding(this.#agent, service, 'n1').forwarding?.frontends ?? []);
    return frontends.some(({ match }) => match.kind === 'address' && formatAddress(match.address) === address);
  }
}

/** Runs everything that can run without advancing the clock. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
