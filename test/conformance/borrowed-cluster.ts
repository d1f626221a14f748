import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { inject } from 'vitest';
import { KubernetesCluster, type ControllerManagerOptions } from './cluster.ts';
import type { ControlPlane } from './control-plane.ts';
import type { Answer, Request } from './keeper.ts';

/**
 * Returns a cluster with the objects of a new one. Its etcd and kube-apiserver, which logs every request, have served other files before. A file that needs
 * arguments of its own or another network namespace starts its own cluster.
 */
export async function borrowCluster(options: ControllerManagerOptions = {}): Promise<KubernetesCluster> {
  const cluster = new KubernetesCluster(await BorrowedControlPlane.borrow(), mkdtempSync(join(tmpdir(), 'herald-cluster-')));
  if (options.controllerManager === true) cluster.startControllerManager(options.controllerManagerArguments);
  return cluster;
}

/** A control plane of the keeper, for as long as the connection lasts. */
class BorrowedControlPlane implements ControlPlane {
  readonly #socket: Socket;
  readonly #answers: AsyncIterator<string>;
  #last!: Exclude<Answer, { readonly error: string }>;

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.#answers = createInterface({ input: socket })[Symbol.asyncIterator]();
  }

  static async borrow(): Promise<BorrowedControlPlane> {
    const socket = connect(inject('clusterKeeper'));
    await once(socket, 'connect');
    const plane = new BorrowedControlPlane(socket);
    await plane.#ask({ ask: 'borrow' });
    return plane;
  }

  get directory(): string {
    return this.#last.directory;
  }

  get admin(): ControlPlane['admin'] {
    return this.#last.admin;
  }

  get etcdPort(): number {
    return this.#last.etcdPort;
  }

  get pids(): ControlPlane['pids'] {
    return this.#last.pids;
  }

  stopApiServer(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    return this.#ask({ ask: 'stop', signal });
  }

  startApiServer(): Promise<void> {
    return this.#ask({ ask: 'start' });
  }

  async stop(): Promise<void> {
    this.#socket.destroy();
    await once(this.#socket, 'close');
  }

  async #ask(request: Request): Promise<void> {
    this.#socket.write(`${JSON.stringify(request)}\n`);
    const { value, done } = await this.#answers.next();
    if (done === true) throw new Error('the keeper of clusters has ended');
    const answer = JSON.parse(value) as Answer;
    if ('error' in answer) throw new Error(answer.error);
    this.#last = answer;
  }
}
