/** A load balancer of this example's API: one address, its ports, and the hosts behind it. */
export interface Balancer {
  readonly name: string;
  readonly address: string;
  readonly ports: readonly { readonly port: number; readonly nodePort: number }[];
  readonly hosts: readonly string[];
}

/** The part of the API that the provider uses. Tests replace it. */
export interface BalancerApi {
  /** Resolves to undefined when there is no balancer of this name. */
  get(name: string): Promise<Balancer | undefined>;
  /** Creates or changes the balancer. */
  put(name: string, wanted: Pick<Balancer, 'ports' | 'hosts'>): Promise<Balancer>;
  /** Deletes the balancer. Succeeds when there is none. */
  delete(name: string): Promise<void>;
}

/** The API did not answer, or it refused the request. */
export class ApiError extends Error {
  readonly code: 'unreachable' | 'refused';

  constructor(code: ApiError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ApiError';
    this.code = code;
  }
}

/** The API over HTTP: `/balancers/NAME`, JSON. */
export class HttpApi implements BalancerApi {
  readonly #url: string;
  readonly #stopped: AbortSignal;

  constructor(url: string, stopped: AbortSignal) {
    this.#url = url;
    this.#stopped = stopped;
  }

  async get(name: string): Promise<Balancer | undefined> {
    return (await this.#call('GET', name)) as Balancer | undefined;
  }

  async put(name: string, wanted: Pick<Balancer, 'ports' | 'hosts'>): Promise<Balancer> {
    const balancer = await this.#call('PUT', name, wanted);
    if (balancer === undefined) throw new ApiError('refused', `balancer ${name} was created but does not exist`);
    return balancer as Balancer;
  }

  async delete(name: string): Promise<void> {
    await this.#call('DELETE', name);
  }

  async #call(method: string, name: string, body?: object): Promise<unknown> {
    let response: Response;
    try {
      response = await fetch(`${this.#url}/balancers/${encodeURIComponent(name)}`, {
        method,
        // Ends a request that the API never answers, so that the Service is not blocked.
        signal: AbortSignal.any([this.#stopped, AbortSignal.timeout(10_000)]),
        headers: { 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    } catch (cause) {
      throw new ApiError('unreachable', `${method} of balancer ${name}: the API did not answer`, { cause });
    }
    if (response.status === 404) return undefined;
    if (!response.ok) throw new ApiError('refused', `${method} of balancer ${name}: ${response.status} ${await response.text()}`);
    return response.status === 204 ? undefined : response.json();
  }
}
