import { writeFileSync } from 'node:fs';
import { run as runCommand } from '../lab/command.ts';
import { until } from '../lab/until.ts';
import { askVty } from '../lab/vty.ts';
import { Programs, type DaemonPlace } from './daemon.ts';
import { run } from './link.ts';
import { inRoot, type Root } from './root.ts';

/** The FRR daemons of one namespace, in a pathspace (option -N) with the name of the place. */
export class FrrDaemons {
  readonly programs: Programs;
  readonly #root: Root;
  readonly #name: string;

  constructor(root: Root, place: DaemonPlace) {
    this.#root = root;
    this.#name = place.name;
    this.programs = new Programs(place, root);
  }

  /** Starts zebra, then `daemons` in their order, each with its further arguments. */
  async start(configuration: string, daemons: Readonly<Record<string, readonly string[]>>): Promise<void> {
    const etc = `/etc/frr/${this.#name}`;
    await this.#exec('install', '-d', '-o', 'frr', '-g', 'frrvty', '-m', '0775', this.#run);
    await this.#exec('install', '-d', '-o', 'frr', '-g', 'frr', etc);
    writeFileSync(`${this.#root.path}${etc}/frr.conf`, configuration);
    writeFileSync(`${this.#root.path}${etc}/vtysh.conf`, '');
    await this.#exec('chown', '-R', 'frr:frr', etc);
    // FRR 10 needs mgmtd before the other daemons. Without zebra its bgpd closes every session.
    if (this.#has('mgmtd')) await this.#launch('mgmtd', []);
    await this.#launch('zebra', []);
    for (const [daemon, more] of Object.entries(daemons)) await this.#launch(daemon, more);
    await this.#exec('vtysh', '-N', this.#name, '-b');
  }

  /** Returns a daemon's answer from its vty socket. */
  ask(daemon: string, command: string): Promise<string> {
    return askVty(`${this.#root.path}${this.#run}/${daemon}.vty`, command);
  }

  /** Returns the output of vtysh, which knows more commands than `ask` and is slower. */
  async vtysh(...commands: readonly string[]): Promise<string> {
    return this.#exec('vtysh', '-N', this.#name, ...commands.flatMap((command) => ['-c', command]));
  }

  get #run(): string {
    return `/run/frr/${this.#name}`;
  }

  async #launch(daemon: string, more: readonly string[]): Promise<void> {
    const argv = [`/usr/lib/frr/${daemon}`, '-N', this.#name, '-A', '127.0.0.1', '--log', 'stdout', ...more];
    const { running } = this.programs.start(daemon, argv);
    await until(`${daemon} listens`, async () => {
      if (!running()) throw new Error(this.programs.log(daemon));
      return this.ask(daemon, 'show version');
    });
  }

  #has(daemon: string): boolean {
    return run('sh', '-c', `test -x "${this.#root.path}/usr/lib/frr/${daemon}" && echo yes || echo no`).trim() === 'yes';
  }

  async #exec(...argv: readonly string[]): Promise<string> {
    const { stdout } = await runCommand(inRoot(this.#root, argv));
    return stdout;
  }
}

export function frrVersion(root: Root): string {
  const [command = '', ...args] = inRoot(root, ['/usr/lib/frr/bgpd', '--version']);
  return /version ([\d.]+)/.exec(run(command, ...args))?.[1] ?? 'of unknown version';
}
