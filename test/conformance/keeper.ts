/**
 * Keeps etcd and kube-apiserver for all files of a run (globalSetup of vitest), because a start takes seconds of two processors. A file borrows them over a
 * Unix socket (borrowed-cluster.ts) for as long as its connection lasts. Then the next file gets them, with the objects of a new cluster. So there are as many
 * as files run at once.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import type { TestProject } from 'vitest/node';
import { Baseline } from './baseline.ts';
import { OwnControlPlane, type ControlPlane } from './control-plane.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The path of the keeper's socket. */
    clusterKeeper: string;
  }
}

/** One request a line, in JSON, and one answer a line. */
export type Request =
  | { readonly ask: 'borrow' }
  | { readonly ask: 'stop'; readonly signal: 'SIGTERM' | 'SIGKILL' }
  | { readonly ask: 'start' };

export type Answer = Pick<ControlPlane, 'directory' | 'admin' | 'etcdPort' | 'pids'> | { readonly error: string };

interface Kept {
  readonly plane: OwnControlPlane;
  readonly baseline: Baseline;
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const keeper = new Keeper();
  await keeper.listen();
  project.provide('clusterKeeper', keeper.socket);
  return () => keeper.stop();
}

class Keeper {
  readonly #directory = mkdtempSync(join(tmpdir(), 'herald-keeper-'));
  readonly socket = join(this.#directory, 'socket');
  readonly #server: Server = createServer((socket) => void this.#serve(socket));
  readonly #all = new Set<OwnControlPlane>();
  /** Each becomes free when its objects are restored; undefined when that failed. */
  readonly #free: Promise<Kept | undefined>[] = [];
  readonly #onExit = (): void => this.#removeFiles();

  async listen(): Promise<void> {
    process.once('exit', this.#onExit);
    await once(this.#server.listen(this.socket), 'listening');
  }

  async stop(): Promise<void> {
    this.#server.close();
    await Promise.all(this.#free);
    await Promise.all([...this.#all].map((plane) => plane.stop()));
    this.#removeFiles();
    process.off('exit', this.#onExit);
  }

  /** The kernel kills the programs with this process (foreground.ts). */
  #removeFiles(): void {
    for (const directory of [this.#directory, ...[...this.#all].map((plane) => plane.directory)])
      rmSync(directory, { recursive: true, force: true });
  }

  async #serve(socket: Socket): Promise<void> {
    let kept: Kept | undefined;
    socket.on('error', () => socket.destroy());
    try {
      for await (const line of createInterface({ input: socket })) {
        const request = JSON.parse(line) as Request;
        const answer = await (async (): Promise<Answer> => {
          kept ??= (await this.#free.shift()) ?? (await this.#make());
          const { plane } = kept;
          if (request.ask === 'stop') await plane.stopApiServer(request.signal);
          if (request.ask === 'start') await plane.startApiServer();
          const { directory, admin, etcdPort, pids } = plane;
          return { directory, admin, etcdPort, pids };
        })().catch((error: unknown): Answer => ({ error: String(error) }));
        socket.write(`${JSON.stringify(answer)}\n`);
      }
    } finally {
      if (kept !== undefined) this.#free.push(this.#restored(kept));
      socket.destroy();
    }
  }

  async #make(): Promise<Kept> {
    const plane = await OwnControlPlane.start({ audit: true });
    this.#all.add(plane);
    return { plane, baseline: await Baseline.of(plane) };
  }

  async #restored(kept: Kept): Promise<Kept | undefined> {
    try {
      // A file that failed may have left it stopped.
      if (!kept.plane.running) throw new Error('kube-apiserver does not run');
      await kept.baseline.restore();
      return kept;
    } catch (error) {
      process.stderr.write(`the cluster of a file is not used again: ${String(error)}\n`);
      this.#all.delete(kept.plane);
      await kept.plane.stop();
      return undefined;
    }
  }
}
