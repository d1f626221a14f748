/** A key under /registry with its value, both in base64, and the revision of its last change. */
export interface Entry {
  readonly key: string;
  readonly value: string;
  readonly revision: string;
  /** The key goes when a lease of etcd ends, as the address of an API server does. */
  readonly leased: boolean;
}

type Change = { readonly put: string; readonly value: string } | { readonly remove: string };

interface Header {
  readonly header: { readonly revision: string };
}

interface Found extends Header {
  readonly kvs?: readonly { readonly key: string; readonly value: string; readonly mod_revision: string; readonly lease?: string }[];
}

/** The part of etcd's interface (JSON over HTTP on loopback) that tests need. */
export class Etcd {
  readonly #port: number;

  constructor(port: number) {
    this.#port = port;
  }

  /** Returns all objects of kube-apiserver. */
  async entries(): Promise<Entry[]> {
    const found = await this.#ask<Found>('range', { key: base64('/registry/'), range_end: base64('/registry0') });
    return (found.kvs ?? []).map(({ key, value, mod_revision: revision, lease = '0' }) => ({
      key,
      value,
      revision,
      leased: lease !== '0',
    }));
  }

  /** Makes all changes at once and returns their revision. */
  async change(changes: readonly Change[]): Promise<string> {
    const success = changes.map((one) =>
      'put' in one ? { requestPut: { key: one.put, value: one.value } } : { requestDeleteRange: { key: one.remove } },
    );
    return (await this.#ask<Header>('txn', { success })).header.revision;
  }

  /** Makes etcd forget all versions before the latest. */
  async compact(): Promise<void> {
    const { header } = await this.#ask<Found>('range', { key: base64('/registry'), limit: '1' });
    await this.#ask('compaction', { revision: header.revision, physical: true });
  }

  async #ask<T>(path: string, body: object): Promise<T> {
    const answer = await fetch(`http://127.0.0.1:${this.#port}/v3/kv/${path}`, { method: 'POST', body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`etcd: ${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as T;
  }
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
