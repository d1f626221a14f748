import type { Query, Write } from '../../../../src/kube/client/client.ts';
import { answerError, KubeError } from '../../../../src/kube/error.ts';

type Raw = Record<string, unknown> & { metadata: Record<string, unknown> };

/** One Lease as an API server stores it: each write must name the version that it replaces. */
export class FakeLeaseServer {
  lease: Raw | undefined;
  /** The holders in order. */
  readonly holders: string[] = [];
  writes = 0;
  /** False: the API server answers a POST with 404 about the namespace. */
  hasNamespace = true;
  #version = 10;

  /** One process's view. `cut`: no response arrives; `losesAnswers`: writes take effect and their responses are lost. */
  client(): FakeLeaseClient {
    return new FakeLeaseClient(this);
  }

  read(): Raw {
    if (this.lease === undefined) throw answerError(404, '');
    return structuredClone(this.lease);
  }

  write({ method, body }: Write): Raw {
    const raw = structuredClone(body) as Raw;
    if (!this.hasNamespace) throw answerError(404, 'namespaces "herald-system" not found', undefined, { kind: 'namespaces' });
    const version = this.lease?.metadata['resourceVersion'];
    if (method === 'POST' ? this.lease !== undefined : version === undefined || raw.metadata['resourceVersion'] !== version)
      throw answerError(409, '');
    this.writes++;
    this.lease = { ...raw, metadata: { ...raw.metadata, resourceVersion: String(++this.#version) } };
    const { holderIdentity } = this.lease['spec'] as { holderIdentity: string };
    if (this.holders.at(-1) !== holderIdentity) this.holders.push(holderIdentity);
    return structuredClone(this.lease);
  }
}

export class FakeLeaseClient {
  readonly #server: FakeLeaseServer;
  cut = false;
  losesAnswers = false;
  /** Awaited before a write takes effect. */
  beforeWrite: () => Promise<void> = async () => undefined;

  constructor(server: FakeLeaseServer) {
    this.#server = server;
  }

  async get(_path: string, _query?: Query, _signal?: AbortSignal): Promise<unknown> {
    if (this.cut) throw new KubeError('unreachable', 'cut');
    return this.#server.read();
  }

  async write(write: Write): Promise<unknown> {
    await this.beforeWrite();
    if (this.cut) throw new KubeError('unreachable', 'cut');
    const answer = this.#server.write(write);
    if (this.losesAnswers) throw new KubeError('unreachable', 'the answer is lost');
    return answer;
  }
}
