import { KubeClient } from '../../../kube/client/client.ts';
import type { RawObject } from '../../../kube/raw-object.ts';
import { Reflector, type ReflectorSink } from '../../../kube/reflector/reflector.ts';
import { parseObject } from '../../../model/parse.ts';
import type { HeraldObject } from '../../../model/store/snapshot.ts';
import { reports } from '../../../sources/kubernetes/collections/watched-kinds.ts';
import { silentLog } from '../../../system/log.ts';
import type { CommandContext } from '../../context/command-context.ts';
import type { CallerOptions } from '../../options/shared-options.ts';
import { connectAsCaller } from '../../storage/caller-connection.ts';

/**
 * Watches the reports of nodes and holds the last one of each until it is taken. A caller who may not watch them hears of no change; the next
 * whole reading says so.
 */
export class ReportWatch implements ReflectorSink {
  readonly #client: KubeClient;
  readonly #ending = new AbortController();
  /** At most one a node. */
  readonly #waiting = new Map<string, RawObject>();
  #running: Promise<void> = Promise.resolve();
  #heard = Promise.withResolvers<void>();

  private constructor(client: KubeClient) {
    this.#client = client;
  }

  /** Begins to watch, with the credentials of the caller. Rejects with UsageError when there are none. */
  static async start(context: CommandContext, options: CallerOptions): Promise<ReportWatch> {
    const { clock, random, stopped } = context;
    const client = new KubeClient(await connectAsCaller(context, options), { clock });
    const watch = new ReportWatch(client);
    const reflector = new Reflector(reports.resource, watch, { client, clock, random, log: silentLog });
    watch.#running = reflector.run(AbortSignal.any([watch.#ending.signal, stopped]));
    return watch;
  }

  /** Resolves when there is a report to take. */
  get changed(): Promise<void> {
    return this.#heard.promise;
  }

  /** Returns the reports that came since the last call. */
  take(): readonly HeraldObject[] {
    const { kind, apiVersion } = reports;
    const taken = [...this.#waiting.values()].flatMap(
      (raw) => parseObject({ ...raw, kind, apiVersion }, { unknownFields: 'warned of' }).object ?? [],
    );
    this.#waiting.clear();
    this.#heard = Promise.withResolvers<void>();
    return taken;
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await this.#running;
    this.#client.close();
  }

  present(key: string, raw: RawObject): void {
    this.#waiting.set(key, raw);
  }

  /** The next whole reading has no report that was deleted. */
  deleted(key: string): void {
    this.#waiting.delete(key);
  }

  flush(): void {
    if (this.#waiting.size > 0) this.#heard.resolve();
  }

  complete(): void {
    this.flush();
  }

  failed(): void {
    // The next whole reading meets the same error and tells it.
  }
}
