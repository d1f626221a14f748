import { ApiError, type Balancer, type BalancerApi } from './api.ts';

/** An in-memory API for tests. It fails when the test asks for errors. */
export class MemoryApi implements BalancerApi {
  readonly balancers = new Map<string, Balancer>();
  fails = false;
  #given = 0;

  async get(name: string): Promise<Balancer | undefined> {
    this.#answer();
    return this.balancers.get(name);
  }

  async put(name: string, wanted: Pick<Balancer, 'ports' | 'hosts'>): Promise<Balancer> {
    this.#answer();
    const address = this.balancers.get(name)?.address ?? `192.0.2.${++this.#given}`;
    const balancer = { name, address, ...wanted };
    this.balancers.set(name, balancer);
    return balancer;
  }

  async delete(name: string): Promise<void> {
    this.#answer();
    this.balancers.delete(name);
  }

  #answer(): void {
    if (this.fails) throw new ApiError('unreachable', 'the API did not answer');
  }
}
