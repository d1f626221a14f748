import { defined } from '../../lang/defined.ts';
import type { Address } from '../../net/address.ts';
import type { DirectReturnNode } from '../../net/direct-return.ts';
import type { Backend, Frontend } from '../../net/frontend.ts';
import type { DirectReturnShortcomings } from '../dataplane.ts';
import { IngressSet, type IngressPorts } from './ingress-set.ts';
import { PathSet, type PathEvents, type PathPorts } from './path-set.ts';

/**
 * What direct server return needs beside the two tables: paths before their elements, the table of ingress after them. Where neither
 * is there for a node, its packets are translated.
 */
export class DirectReturn {
  readonly #paths: PathSet;
  readonly #ingress: IngressSet;

  constructor(ports: PathPorts & IngressPorts, events: PathEvents) {
    this.#paths = new PathSet(ports, events);
    this.#ingress = new IngressSet(ports, events.repaired);
  }

  /** Before the frontends. Never rejects. */
  async setNode(node: DirectReturnNode | undefined): Promise<void> {
    this.#ingress.setNode(node);
    await this.#paths.setNode(node);
  }

  /** The frontend as far as there are paths for it. */
  withExistingPaths(frontend: Frontend): Frontend {
    if (frontend.directReturn === undefined) return frontend;
    return { ...frontend, backends: frontend.backends.map((backend) => this.#reached(backend)) };
  }

  /** Frontends that the tables now have, or (undefined) no longer. Never rejects. */
  async applyCommitted(frontends: Iterable<readonly [key: string, Frontend | undefined]>): Promise<void> {
    for (const [key, frontend] of frontends) this.#ingress.setFrontend(key, frontend);
    await this.#ingress.commit();
  }

  /** Whether frames can be handed over at these interfaces, routes seen, and tunnels made from these addresses; the tunnels are then there. */
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

  /** After `close`. */
  async remove(): Promise<void> {
    await this.#ingress.remove();
    await this.#paths.remove();
  }

  #reached({ path: passing, ...backend }: Backend): Backend {
    if (passing === undefined || backend.node === undefined) return backend;
    if (passing.routed === undefined || this.#paths.reaches(backend.node)) return { ...backend, path: passing };
    return passing.ingress ? { ...backend, path: { ingress: true } } : backend;
  }
}
