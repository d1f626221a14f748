import { chownSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { run } from './command.ts';
import type { LabProcess } from './lab-process.ts';
import type { Machine } from './machine.ts';
import type { FrrDaemon } from './topology.ts';
import { until } from './until.ts';

/** FRR's directories for a pathspace (`-N`). The lab names the pathspace after the namespace. */
export const frrDirectories = (namespace: string): readonly [run: string, etc: string] => [
  `/run/frr/${namespace}`,
  `/etc/frr/${namespace}`,
];

export const vtyPath = (namespace: string, daemon: FrrDaemon): string => `${frrDirectories(namespace)[0]}/${daemon}.vty`;

/** The FRR daemons of one namespace: writes their configuration files, starts and kills them. */
export class Frr {
  readonly #machine: Machine;
  readonly #configuration: ReadonlyMap<FrrDaemon, string>;
  readonly #running = new Map<FrrDaemon, LabProcess>();

  constructor(machine: Machine, configuration: ReadonlyMap<FrrDaemon, string>) {
    this.#machine = machine;
    this.#configuration = configuration;
  }

  async prepare(): Promise<void> {
    const { uid, gid } = await frrUser();
    const [runDirectory, etcDirectory] = frrDirectories(this.#machine.namespace);
    for (const directory of [runDirectory, etcDirectory]) {
      mkdirSync(directory, { recursive: true, mode: 0o755 });
      chownSync(directory, uid, gid);
    }
    // An empty vtysh.conf keeps an interactive vtysh from complaining.
    const files = new Map<string, string>([['vtysh', ''], ...this.#configuration]);
    for (const [name, text] of files) {
      const file = `${etcDirectory}/${name}.conf`;
      writeFileSync(file, text);
      chownSync(file, uid, gid);
    }
  }

  /** Starts daemons in the foreground of our own processes, so that we see their end and know their process ids. */
  async start(only?: FrrDaemon): Promise<void> {
    const { namespace } = this.#machine;
    const [runDirectory, etcDirectory] = frrDirectories(namespace);
    const wanted = startOrder.filter((daemon) => this.#configuration.has(daemon) && (only === undefined || only === daemon));
    const start = async (daemon: FrrDaemon): Promise<void> => {
      const socket = vtyPath(namespace, daemon);
      // A socket that a killed daemon left would make the new daemon look ready.
      rmSync(socket, { force: true });
      if (daemon === 'zebra') rmSync(`${runDirectory}/zserv.api`, { force: true });
      const log = `${runDirectory}/${daemon}.log`;
      // The file is named explicitly, because daemons skip their own default file on a host with an integrated /etc/frr/frr.conf.
      const configuration = `${etcDirectory}/${daemon}.conf`;
      const program = `/usr/lib/frr/${daemon}`;
      // Without this option zebra changes an IPv6 route by deleting and adding it, and packets in between find no route.
      const replace = daemon === 'zebra' ? ['--v6-rr-semantics'] : [];
      const argv = [program, '-N', namespace, '-A', '127.0.0.1', '-f', configuration, '--log', `file:${log}`, ...replace];
      const started = this.#machine.spawn(argv, {
        name: daemon,
      });
      this.#running.set(daemon, started);
      const ready = daemon === 'zebra' ? [socket, `${runDirectory}/zserv.api`] : [socket];
      await until(`${daemon} in ${namespace} listens`, (note) => {
        if (!started.running) throw new Error(`${daemon} in ${namespace} ended: ${tail(started.logFile)} ${tail(log)}`);
        return note(ready.filter((path) => existsSync(path))).length === ready.length;
      });
    };
    // The other daemons look for zebra when they start, and again only after ten seconds.
    if (wanted.includes('zebra')) await start('zebra');
    await Promise.all(wanted.filter((daemon) => daemon !== 'zebra').map(start));
  }

  /** Kills daemons with SIGKILL: they send no NOTIFICATION and no withdrawal, and the kernel closes their sockets. */
  async kill(only?: FrrDaemon): Promise<void> {
    const victims = [...this.#running].filter(([daemon]) => only === undefined || only === daemon);
    for (const [daemon, process] of victims) {
      process.kill('SIGKILL');
      this.#running.delete(daemon);
    }
    await Promise.all(victims.map(([, process]) => process.exited));
  }
}

const startOrder: readonly FrrDaemon[] = ['zebra', 'bgpd', 'staticd', 'bfdd'];

/** Returns the user that Debian's package creates and the daemons switch to. */
async function frrUser(): Promise<{ uid: number; gid: number }> {
  const { stdout } = await run(['id', 'frr'], { check: false });
  const [uid, gid] = [/uid=(\d+)/, /gid=(\d+)/].map((pattern) => pattern.exec(stdout)?.[1]);
  if (uid === undefined || gid === undefined) throw new Error('FRR is not installed: run scripts/setup.sh as root');
  return { uid: Number(uid), gid: Number(gid) };
}

function tail(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(-10).join('\n') : '';
}
