import { Frr, vtyPath } from './frr.ts';
import { Machine } from './machine.ts';
import type { FrrDaemon } from './topology.ts';
import { askVty } from './vty.ts';

/** A machine with FRR. */
export class Router extends Machine {
  readonly frr: Frr;

  constructor(labId: string, name: string, configuration: ReadonlyMap<FrrDaemon, string>) {
    super(labId, name);
    this.frr = new Frr(this, configuration);
  }

  /**
   * Asks FRR and reads its JSON: `show bgp ipv4 unicast json`. The daemon is guessed: bgpd for `show bgp`, bfdd for `show bfd`,
   * else zebra. Rejects with VtyError when the daemon is not there or does not know the command.
   */
  async show<T = unknown>(command: string, daemon: FrrDaemon = guessDaemon(command)): Promise<T> {
    return JSON.parse(await this.ask(command, daemon)) as T;
  }

  /** The same, as text. */
  ask(command: string, daemon: FrrDaemon = guessDaemon(command)): Promise<string> {
    return askVty(vtyPath(this.namespace, daemon), command);
  }

  /** Lines of configuration mode, by vtysh. A restart forgets them. */
  async configure(lines: readonly string[]): Promise<void> {
    await this.exec(['vtysh', '-N', this.namespace, ...['configure terminal', ...lines].flatMap((line) => ['-c', line])]);
  }

  /** SIGKILL to FRR or to one of its daemons. When zebra dies the kernel keeps its routes; when only bgpd does, zebra removes those of BGP. */
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
