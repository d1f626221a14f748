import { Frr, vtyPath } from './frr.ts';
import { Machine } from './machine.ts';
import type { FrrDaemon } from './topology.ts';
import { askVty } from './vty.ts';

/** A machine that runs FRR. */
export class Router extends Machine {
  readonly frr: Frr;

  constructor(labId: string, name: string, configuration: ReadonlyMap<FrrDaemon, string>) {
    super(labId, name);
    this.frr = new Frr(this, configuration);
  }

  /**
   * Asks FRR and parses its JSON answer: `show bgp ipv4 unicast json`. The default daemon is bgpd for `show bgp`, bfdd for `show bfd`, else
   * zebra. Rejects with VtyError when the daemon is not there or does not know the command.
   */
  async show<T = unknown>(command: string, daemon: FrrDaemon = guessDaemon(command)): Promise<T> {
    return JSON.parse(await this.ask(command, daemon)) as T;
  }

  /** Asks FRR and returns its answer as text. */
  ask(command: string, daemon: FrrDaemon = guessDaemon(command)): Promise<string> {
    return askVty(vtyPath(this.namespace, daemon), command);
  }

  /** Runs lines of configuration mode by vtysh. A restart of FRR loses them. */
  async configure(lines: readonly string[]): Promise<void> {
    await this.exec(['vtysh', '-N', this.namespace, ...['configure terminal', ...lines].flatMap((line) => ['-c', line])]);
  }

  /**
   * Kills FRR or one of its daemons with SIGKILL. Without zebra the kernel keeps its routes. Without bgpd, zebra removes the routes of BGP.
   */
  kill(daemon?: FrrDaemon): Promise<void> {
    return this.frr.kill(daemon);
  }

  async restart(daemon?: FrrDaemon): Promise<void> {
    await this.frr.kill(daemon);
    await this.frr.start(daemon);
  }
}

function guessDaemon(command: string): FrrDaemon {
  if (command.startsWith('show bgp') || command.startsWith('show ip bgp')) return 'bgpd';
  return command.startsWith('show bfd') ? 'bfdd' : 'zebra';
}
