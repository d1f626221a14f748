import { run, type CommandOptions, type CommandResult } from './command.ts';
import { LabProcess } from './lab-process.ts';
import { ip, inNamespace } from './namespace.ts';
import type { NodePlan } from './address-plan.ts';
import { directoryOf, recordProcess } from './state.ts';

export interface KernelRoute {
  readonly dst: string;
  readonly protocol?: string;
  readonly gateway?: string;
  readonly dev?: string;
  readonly type?: string;
  readonly prefsrc?: string;
  /** Present when there is more than one. */
  readonly nexthops?: readonly { readonly gateway?: string; readonly dev?: string; readonly weight?: number }[];
}

/** A network namespace of the lab and the processes in it. */
export class Machine {
  readonly name: string;
  /** The name for `ip netns exec`. */
  readonly namespace: string;
  readonly labId: string;
  readonly #spawned = new Map<string, number>();

  constructor(labId: string, name: string) {
    this.labId = labId;
    this.name = name;
    this.namespace = `${labId}-${name}`;
  }

  /** Runs a command to its end. A status other than 0 rejects with CommandError unless `check` is false. */
  exec(argv: readonly string[], options?: CommandOptions): Promise<CommandResult> {
    return run(inNamespace(this.namespace, argv), options);
  }

  /** Starts a process. Its output goes to a file in the lab's directory, called after `name` (the program's name by default). */
  spawn(
    argv: readonly string[],
    options: { readonly name?: string; readonly env?: Record<string, string>; readonly cwd?: string } = {},
  ): LabProcess {
    const base = `${this.name}.${options.name ?? argv[0]?.split('/').at(-1) ?? ''}`;
    const count = (this.#spawned.get(base) ?? 0) + 1;
    this.#spawned.set(base, count);
    return new LabProcess(inNamespace(this.namespace, argv), {
      logFile: `${directoryOf(this.labId)}/logs/${base}${count === 1 ? '' : `.${count}`}.log`,
      env: options.env,
      cwd: options.cwd,
      record: (identity) => recordProcess(this.labId, identity),
    });
  }

  /** Returns the routes of the main table, including those of other programs. */
  async kernelRoutes(family: 4 | 6): Promise<readonly KernelRoute[]> {
    const { stdout } = await run(['ip', '-n', this.namespace, '-j', `-${family}`, 'route', 'show']);
    return JSON.parse(stdout || '[]') as KernelRoute[];
  }

  /** Runs lines of `ip -batch` in this namespace. */
  ip(...lines: readonly string[]): Promise<void> {
    return ip(lines, this.namespace);
  }
}

export class LabNode extends Machine {
  readonly plan: NodePlan;

  constructor(labId: string, plan: NodePlan) {
    super(labId, plan.name);
    this.plan = plan;
  }
}
