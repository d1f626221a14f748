import { timeNow } from './addresses.ts';
import type { LabProcess } from '../../lab/lab-process.ts';
import { until } from '../../lab/until.ts';
import { eventsOf, type Client } from './probe.ts';
import type { Helper, Stage } from './stage.ts';

const patience = 600_000;
/** A Lease that is older has no holder. */
const leaseMilliseconds = 4_000;
const leasePath = '/apis/coordination.k8s.io/v1/namespaces/herald-system/leases/herald-controller';

interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly renewTime?: string;
}

/** The two controllers of a run: one leads, and the other waits. */
export class Controllers {
  readonly #stage: Stage;
  readonly #note: (text: string) => void;
  readonly #running: LabProcess[] = [];

  constructor(stage: Stage, note: (text: string) => void) {
    [this.#stage, this.#note] = [stage, note];
  }

  /** Starts both. Resolves when the first one leads and has read everything. */
  async start(): Promise<void> {
    const began = timeNow();
    for (const index of [0, 1]) {
      const controller = await this.#stage.startController(index);
      this.#running.push(controller);
      if (index === 0) await controller.waitForLine(/controller started/, patience);
    }
    this.#note(`the controller has started after ${((timeNow() - began) / 1000).toFixed(1)} s`);
  }

  /** Returns the processes to measure. */
  async clients(load: Helper): Promise<Client[]> {
    const leader = await this.#leader(load);
    return this.#running.map(({ pid }, index) => ({
      name: index === leader ? 'herald-controller' : 'herald-controller (waiting)',
      pid,
      processes: 1,
      events: () => eventsOf(`controller${index}`, 10_292),
    }));
  }

  async killLeader(load: Helper): Promise<void> {
    const leader = this.#running[await this.#leader(load)];
    leader?.kill('SIGKILL');
    await leader?.exited;
  }

  /** Starts the controllers again when both have ended. One that was killed stays away while the other one runs. */
  async startWhenAllEnded(): Promise<void> {
    if (this.#running.every(({ running }) => !running)) await this.#startEnded();
  }

  /** Plays the kubelet: starts controllers again that have ended, because they could not renew their Lease in time. */
  async #startEnded(): Promise<void> {
    for (const [index, controller] of this.#running.entries()) {
      if (controller.running) continue;
      this.#note(`controller${index} has ended and is started again: ${controller.lines().at(-1) ?? ''}`);
      this.#running[index] = await this.#stage.startController(index);
    }
  }

  /** Returns the index of the controller that leads. */
  async #leader(load: Helper): Promise<number> {
    return until(
      'a running controller leads',
      async (noteSeen) => {
        await this.#startEnded();
        const { spec } = noteSeen(await load.call<{ readonly spec: LeaseSpec }>('get', leasePath));
        const found = this.#running.findIndex((_, index) => spec.holderIdentity?.startsWith(`controller${index}`));
        const renewed = Date.parse(spec.renewTime ?? '') > Date.now() - leaseMilliseconds;
        return renewed && this.#running[found]?.running === true ? found : undefined;
      },
      patience,
    );
  }
}
