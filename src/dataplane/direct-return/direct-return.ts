import { defined } from '../../lang/defined.ts';
import type { Address } from '../../net/address.ts';
import type { DirectReturnNode } from '../../net/direct-return.ts';
import type { Backend, Frontend } from '../../net/frontend.ts';
import type { DirectReturnShortcomings } from '../dataplane.ts';
import { IngressSet, type IngressPorts } from './ingress-set.ts';
import { PathSet, type PathEvents, type PathPorts } from './path-set.ts';

/**
 * Manages the kernel state that direct server return needs besides the two tables: paths, created before the elements that use them, and
 * the ingress table, updated after them. Packets for a node that has neither are translated.
 */
export class DirectReturn {
  readonly #paths: PathSet;
  readonly #ingress: IngressSet;

  constructor(ports: PathPorts & IngressPorts, events: PathEvents) {
    this.#paths = new PathSet(ports, events);
    this.#ingress = new IngressSet(ports, events.repaired);
  }

  /** True: there may be a tunnel, so the tables must restrict what it receives. */
  get hasTunnels(): boolean {
    return this.#paths.hasTunnels;
  }

  /** Looks for tunnels of an earlier process. Never rejects. */
  findTunnels(): Promise<void> {
    return this.#paths.findTunnels();
  }

  /** Called before `probe` creates tunnels. The returned function is called after it. */
  expectTunnels(): () => void {
    return this.#paths.expectTunnels();
  }

  /** Sets the desired paths. Called before the frontends change. Never rejects. */
  async setNode(node: DirectReturnNode | undefined): Promise<void> {
    this.#ingress.setNode(node);
    await this.#paths.setNode(node);
  }

  /** Returns the frontend with only those paths that exist. */
  withExistingPaths(frontend: Frontend): Frontend {
    if (frontend.directReturn === undefined) return frontend;
    return { ...frontend, backends: frontend.backends.map((backend) => this.#reached(backend)) };
  }

  /** Updates the ingress table after the tables committed these frontends. Undefined: removed. Never rejects. */
  async applyCommitted(frontends: Iterable<readonly [key: string, Frontend | undefined]>): Promise<void> {
    for (const [key, frontend] of frontends) this.#ingress.setFrontend(key, frontend);
    await this.#ingress.commit();
  }

  /**
   * Checks whether frames can be forwarded at these interfaces, routes listed, and tunnels created from these addresses. The tunnels exist
   * afterwards.
   */
  async probe(interfaces: readonly string[], tunnels: readonly Address[]): Promise<DirectReturnShortcomings> {
    const l2 = interfaces.length === 0 ? undefined : await this.#ingress.probe(interfaces);
    const vxlan = tunnels.length === 0 ? undefined : await this.#paths.probe(tunnels);
    const route = await this.#paths.probe([]);
    return { ...defined({ l2, route, vxlan }) };
  }

  async close(): Promise<void> {
    await this.#ingress.close();
    await this.#paths.close();
  }

  /** Removes the ingress table and all paths. Called after `close`. */
  async remove(): Promise<void> {
    await this.#ingress.remove();
    await this.#paths.remove();
  }

  #reached({ path, ...backend }: Backend): Backend {
    if (path === undefined || backend.node === undefined) return backend;
    if (path.routed === undefined || this.#paths.reaches(backend.node)) return { ...backend, path };
    return path.ingress ? { ...backend, path: { ingress: true } } : backend;
  }
}
