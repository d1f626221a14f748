import { until } from '../lab/until.ts';
import type { ControlPlane } from './control-plane.ts';
import { Etcd, type Entry } from './etcd.ts';
import { send } from './request.ts';

/** Objects that kube-apiserver itself writes again and again. */
const renewed = /^\/registry\/(?:masterleases|leases\/kube-system\/apiserver-)/;

/** kube-apiserver creates these itself after it is ready. */
const late = ['/api/v1/namespaces/kube-node-lease', '/api/v1/namespaces/kube-public', '/api/v1/namespaces/default/services/kubernetes'];

const crdKey = /^\/registry\/apiextensions\.k8s\.io\/customresourcedefinitions\/[^.]+\.(.+)$/;

/**
 * The objects of a control plane that no test has used yet. `restore` brings them back: it removes all others and undoes changes. It writes to etcd, so
 * finalizers, namespaces that end and CRDs delay nothing, and no controller of Kubernetes need run.
 */
export class Baseline {
  readonly #plane: ControlPlane;
  readonly #etcd: Etcd;
  readonly #entries: Map<string, Entry>;

  private constructor(plane: ControlPlane, entries: readonly Entry[]) {
    this.#plane = plane;
    this.#etcd = new Etcd(plane.etcdPort);
    this.#entries = new Map(entries.map((one) => [one.key, one]));
  }

  static async of(plane: ControlPlane): Promise<Baseline> {
    for (const path of late)
      await until(`kube-apiserver has created ${path}`, async () => (await send(plane.admin, { path })).status === 200);
    return new Baseline(plane, await new Etcd(plane.etcdPort).entries());
  }

  /** Resolves when kube-apiserver no longer serves the kinds of removed CRDs. Rejects when a program goes on changing objects. */
  async restore(): Promise<void> {
    const groups = new Set<string>();
    // A request of a program that was killed just now can come to its end after the first round.
    await until('nothing differs from the baseline', async (note) => {
      const changed = await this.#restoreOnce();
      for (const key of changed) groups.add(crdKey.exec(key)?.[1] ?? '');
      return note(changed).length === 0;
    });
    groups.delete('');
    for (const group of groups)
      await until(`${group} is not served`, async () => (await send(this.#plane.admin, { path: `/apis/${group}` })).status === 404);
  }

  /** Returns the keys that differed. */
  async #restoreOnce(): Promise<readonly string[]> {
    const now = new Map((await this.#etcd.entries()).map((one) => [one.key, one]));
    const added = [...now.keys()].filter((key) => !this.#entries.has(key));
    const changed = [...this.#entries.values()].filter(
      ({ key, revision, leased }) => !leased && !renewed.test(plain(key)) && now.get(key)?.revision !== revision,
    );
    if (added.length + changed.length === 0) return [];
    const revision = await this.#etcd.change([
      ...added.map((key) => ({ remove: key })),
      ...changed.map(({ key, value }) => ({ put: key, value })),
    ]);
    for (const one of changed) this.#entries.set(one.key, { ...one, revision });
    return [...added, ...changed.map(({ key }) => key)].map(plain);
  }
}

const plain = (key: string): string => Buffer.from(key, 'base64').toString();
