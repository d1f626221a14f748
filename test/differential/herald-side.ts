import { nodeForwarding } from '../../src/decisions/forwarding/node.ts';
import { decideForwarding } from '../../src/decisions/forwarding/plan.ts';
import { NftablesDataplane } from '../../src/dataplane/nftables/nftables.ts';
import { machinePorts } from '../../src/dataplane/nftables/ports.ts';
import { namespaceNamed } from '../support/namespace-named.ts';
import { parseObject } from '../../src/model/parse.ts';
import { Store } from '../../src/model/store/store.ts';
import type { ServiceForwarding } from '../../src/net/frontend.ts';
import { systemClock } from '../../src/system/clock.ts';
import { silentLog } from '../../src/system/log.ts';
import type { ApiObject } from '../kube-fixture/object.ts';
import { fixedObjects, nodeName, podPrefixes, type Environment, type Objects } from './objects.ts';
import { Stand } from './stand.ts';

/** A node with Herald's data plane. Objects are parsed, decided and programmed as the agent does it. */
export class HeraldSide {
  readonly stand: Stand;
  readonly #dataplane: NftablesDataplane;
  #fixed: readonly ApiObject[] = [];
  #present: readonly string[] = [];
  #started = false;

  private constructor(stand: Stand) {
    this.stand = stand;
    this.#dataplane = new NftablesDataplane(
      machinePorts(systemClock, silentLog, { own: false, namespace: namespaceNamed(stand.namespace) }),
    );
  }

  static async start(): Promise<HeraldSide> {
    return new HeraldSide(await Stand.start('h'));
  }

  enter(environment: Environment): void {
    this.#fixed = [...fixedObjects(environment), ...settings(environment)];
  }

  /** Resolves when the kernel has the rules for exactly these objects. Existing rules are changed, not replaced. */
  async program({ services, slices }: Objects): Promise<void> {
    const store = new Store();
    for (const object of [...this.#fixed, ...services, ...slices]) store.upsert(parsed(object));
    const wanted = new Map<string, ServiceForwarding | undefined>(this.#present.map((key) => [key, undefined]));
    for (const [key, service] of store.services) wanted.set(key, decideForwarding(store, service, nodeName).forwarding);
    this.#present = [...wanted].flatMap(([key, forwarding]) => (forwarding === undefined ? [] : [key]));
    const node = nodeForwarding(store, nodeName);
    if (!this.#started) await this.#dataplane.replace(node, new Map());
    this.#started = true;
    const [, { quarantined }] = await Promise.all([this.#dataplane.setNode(node), this.#dataplane.apply(wanted)]);
    if (quarantined.size > 0) throw new Error(`quarantined: ${[...quarantined.keys()].join()}`);
  }

  async stop(): Promise<void> {
    await this.#dataplane.close();
    this.stand.stop();
  }
}

const podSettings: Readonly<Record<Environment['pods'], object>> = {
  prefixes: { podCIDRs: podPrefixes },
  interface: { podInterfaces: ['pods'] },
  'name of interface': { podInterfaces: ['pod*'] },
  unknown: {},
};

function settings({ pods, masqueradeAll, nodePortAddresses, externalIPsAllowed }: Environment): ApiObject[] {
  const apiVersion = 'herald.dev/v1alpha1';
  const policy = { namespaceSelector: {}, cidrs: ['0.0.0.0/0', '::/0'] };
  return [
    {
      apiVersion,
      kind: 'HeraldConfig',
      metadata: { name: 'default' },
      spec: { ...podSettings[pods], masqueradeAll, nodePortAddresses },
    },
    ...(externalIPsAllowed ? [{ apiVersion, kind: 'ExternalIPPolicy', metadata: { name: 'all' }, spec: policy }] : []),
  ];
}

/** Parses an object, and throws if Herald refuses it: all generated objects are valid. */
function parsed(raw: ApiObject): NonNullable<ReturnType<typeof parseObject>['object']> {
  const { object, problems } = parseObject(raw);
  if (object === undefined || problems.length > 0) throw new Error(`${JSON.stringify(raw)}: ${JSON.stringify(problems)}`);
  return object;
}
