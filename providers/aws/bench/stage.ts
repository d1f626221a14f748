import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KubeClient } from '../../../src/kube/client/client.ts';
import { systemClock } from '../../../src/system/clock.ts';
import type { Account } from '../test/moto/account.ts';
import { Moto } from '../test/moto/moto.ts';
import { makeAccount } from '../test/moto/moto-account.ts';
import { KubernetesCluster } from '../../../test/conformance/cluster.ts';
import { apply } from '../../../test/conformance/manifests.ts';
import type { Surroundings } from './contenders/contender.ts';
import { Requests } from './requests.ts';

export interface ServiceForm {
  readonly name: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: object;
}

interface ListedService {
  readonly metadata: { readonly name: string };
  readonly status: { readonly loadBalancer: { readonly ingress?: readonly { readonly hostname?: string }[] } };
}

const services = '/api/v1/namespaces/default/services';
/** Requests to the API server at a time. */
const atOnce = 8;

/** One kube-apiserver and one moto for all runs, with a proxy between the controllers and moto. */
export class Stage implements AsyncDisposable {
  readonly requests: Requests;
  readonly moto: Moto;
  readonly #cluster: KubernetesCluster;
  readonly #client: KubeClient;
  #account: Account | undefined;

  private constructor(cluster: KubernetesCluster, moto: Moto, requests: Requests) {
    [this.#cluster, this.moto, this.requests] = [cluster, moto, requests];
    const { server, certificateAuthority: ca, token } = cluster.admin;
    const credentials = async () => ({ ca, authorization: `Bearer ${token}` });
    this.#client = new KubeClient({ server: new URL(server), credentials, expired: () => undefined }, { clock: systemClock });
  }

  static async start(objects: readonly object[]): Promise<Stage> {
    await using cleanup = new AsyncDisposableStack();
    const cluster = await KubernetesCluster.start();
    cleanup.defer(() => cluster.stop());
    const moto = cleanup.use(await Moto.start());
    const serviceAccount = join(cluster.directory, 'service-account');
    mkdirSync(serviceAccount);
    const { certificateAuthority, token } = cluster.admin;
    for (const [name, content] of Object.entries({ 'ca.crt': certificateAuthority, token, namespace: 'kube-system' }))
      writeFileSync(join(serviceAccount, name), content, { mode: 0o600 });
    const stage = new Stage(cluster, moto, cleanup.use(await Requests.start(moto.endpoint)));
    await apply(cluster, ...objects);
    cleanup.move();
    return stage;
  }

  get account(): Account {
    if (this.#account === undefined) throw new Error('reset() makes the account');
    return this.#account;
  }

  get surroundings(): Surroundings {
    const { directory, admin } = this.#cluster;
    return {
      directory,
      kubeconfig: join(directory, 'kubeconfig'),
      serviceAccount: join(directory, 'service-account'),
      apiServer: new URL(admin.server),
      endpoint: this.requests.endpoint,
      vpcId: this.account.vpcId,
      certificates: join(directory, 'certificates'),
    };
  }

  /** Empties cluster and account, and makes three nodes that are instances of the account. Controllers must have stopped. */
  async reset(): Promise<void> {
    const names = await this.#names(services);
    // The controller that would remove its finalizer has stopped.
    const body = { metadata: { finalizers: null } };
    await each(names, (name) =>
      this.#client.write({ method: 'PATCH', path: `${services}/${name}`, contentType: 'application/merge-patch+json', body }),
    );
    await each(
      names.filter((name) => name !== 'kubernetes'),
      (name) => this.#client.write({ method: 'DELETE', path: `${services}/${name}` }),
    );
    await this.#removeBindings();
    await each(await this.#names('/api/v1/nodes'), (name) => this.#client.write({ method: 'DELETE', path: `/api/v1/nodes/${name}` }));
    await this.moto.reset();
    this.#account = await makeAccount(this.moto);
    for (const [index, { instance, zone }] of this.#account.nodes.entries()) {
      const metadata = { name: `node-${index}`, labels: { 'topology.kubernetes.io/zone': zone } };
      await this.#client.write({
        method: 'POST',
        path: '/api/v1/nodes',
        body: { metadata, spec: { providerID: `aws:///${zone}/${instance}` } },
      });
      const ready = { status: { conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady' }] } };
      const path = `/api/v1/nodes/node-${index}/status`;
      await this.#client.write({ method: 'PATCH', path, contentType: 'application/strategic-merge-patch+json', body: ready });
    }
  }

  async create(forms: readonly ServiceForm[]): Promise<void> {
    await each(forms, ({ name, annotations = {}, spec }) => {
      const base = { type: 'LoadBalancer', loadBalancerClass: 'service.k8s.aws/nlb', ports: [{ port: 80 }] };
      return this.#client.write({ method: 'POST', path: services, body: { metadata: { name, annotations }, spec: { ...base, ...spec } } });
    });
  }

  /** Returns the names of the Services that have a host name. */
  async published(): Promise<string[]> {
    // Version 0 is answered from kube-apiserver's memory.
    const { items } = (await this.#client.get(services, { resourceVersion: '0' })) as { readonly items: readonly ListedService[] };
    return items.filter(({ status }) => (status.loadBalancer.ingress?.[0]?.hostname ?? '') !== '').map(({ metadata }) => metadata.name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#client.close();
    await this.requests[Symbol.asyncDispose]();
    await this.moto.stop();
    await this.#cluster.stop();
  }

  /** LBC keeps its target groups as objects. */
  async #removeBindings(): Promise<void> {
    const path = '/apis/elbv2.k8s.aws/v1beta1/namespaces/default/targetgroupbindings';
    const names = await this.#names(path).catch(() => []);
    const body = { metadata: { finalizers: null } };
    await each(names, (name) =>
      this.#client.write({ method: 'PATCH', path: `${path}/${name}`, contentType: 'application/merge-patch+json', body }),
    );
    await each(names, (name) => this.#client.write({ method: 'DELETE', path: `${path}/${name}` }));
  }

  async #names(path: string): Promise<string[]> {
    const { items } = (await this.#client.get(path)) as { readonly items: readonly { readonly metadata: { readonly name: string } }[] };
    return items.map(({ metadata }) => metadata.name);
  }
}

async function each<Item>(items: readonly Item[], work: (item: Item) => Promise<unknown>): Promise<void> {
  const left = [...items];
  const worker = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
