import { decideForwarding } from '../../../src/decisions/forwarding/plan.ts';
import { nodeForwarding } from '../../../src/decisions/forwarding/node.ts';
import { commandPorts } from '../../support/commands/command-ports.ts';
import { machinePorts } from '../../../src/dataplane/nftables/ports.ts';
import { namespaceNamed } from '../../support/namespace-named.ts';
import { NftablesDataplane, type NftablesPorts } from '../../../src/dataplane/nftables/nftables.ts';
import type { NftExecutor } from '../../../src/dataplane/nftables/executor.ts';
import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import { parseObject } from '../../../src/model/parse.ts';
import { Store } from '../../../src/model/store/store.ts';
import type { NodeForwarding, ServiceForwarding } from '../../../src/net/frontend.ts';
import { systemClock } from '../../../src/system/clock.ts';
import { silentLog } from '../../../src/system/log.ts';
import type { ApiObject } from '../../kube-fixture/object.ts';
import { nodeObject, serviceObject, sliceObject } from './services.ts';

export type ExecutorName = 'netlink' | 'nft command';

/** Herald's path from objects to the kernel, without an agent around it. */
export class HeraldNode {
  readonly store = new Store();
  readonly dataplane: NftablesDataplane;
  /** Milliseconds of the latest transaction, from its elements to the kernel's reply. */
  transaction = 0;

  /** `namespace`: a network namespace other than that of this process. */
  constructor(executor: ExecutorName, namespace: string | undefined, store = new Store()) {
    this.store = store;
    this.dataplane = new NftablesDataplane(this.#ports(executor, namespace));
    this.put(nodeObject);
  }

  put(object: ApiObject): void {
    const result = parseObject(object, { resourceVersion: '1' });
    if (result.object === undefined) throw new Error(result.problems.map(({ message }) => message).join());
    this.store.upsert(result.object);
  }

  putServices(from: number, end: number): void {
    for (let index = from; index < end; index++) {
      this.put(serviceObject(index));
      this.put(sliceObject(index));
    }
  }

  get node(): NodeForwarding {
    return nodeForwarding(this.store, 'node1');
  }

  decide(key: ServiceKey): ServiceForwarding | undefined {
    const service = this.store.services.get(key);
    return service === undefined ? undefined : decideForwarding(this.store, service, 'node1').forwarding;
  }

  decideAll(): Map<string, ServiceForwarding> {
    const all = new Map<string, ServiceForwarding>();
    for (const key of this.store.services.keys()) {
      const forwarding = this.decide(key);
      if (forwarding !== undefined) all.set(key, forwarding);
    }
    return all;
  }

  /** Nothing may be refused. */
  async load(services: ReadonlyMap<string, ServiceForwarding>): Promise<void> {
    const { quarantined } = await this.dataplane.replace(this.node, services);
    if (quarantined.size > 0) throw new Error([...quarantined.values()][0]?.error);
  }

  #ports(executor: ExecutorName, namespace: string | undefined): NftablesPorts {
    const where = namespace === undefined ? {} : { namespace: namespaceNamed(namespace) };
    const ports =
      executor === 'netlink'
        ? machinePorts(systemClock, silentLog, { own: false, ...where })
        : commandPorts(systemClock, silentLog, where.namespace?.commandPrefix);
    return { ...ports, executor: this.#timed(ports.executor) };
  }

  #timed(executor: NftExecutor): NftExecutor {
    return {
      run: async (transaction) => {
        const start = performance.now();
        await executor.run(transaction);
        this.transaction = performance.now() - start;
      },
      removeTables: () => executor.removeTables(),
      readTable: (skeleton, wanted) => executor.readTable(skeleton, wanted),
      monitor: (events) => executor.monitor(events),
      close: () => executor.close(),
    };
  }
}
