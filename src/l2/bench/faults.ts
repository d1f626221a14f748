import process from 'node:process';
import { run } from '../../../test/peers/link.ts';
import type { Contender } from './contenders/contender.ts';

/** Something that ends the owner's answers, and its repair. */
export interface Fault {
  readonly name: string;
  apply(contender: Contender, at: number): void;
  repair(contender: Contender, at: number): Promise<void>;
}

const port = ({ lab }: Contender, at: number, ...change: readonly string[]): void =>
  void run('ip', '-n', lab.segment.bridge, 'link', 'set', `p${at}`, ...change);

/** keepalived has a child process, so the signal goes to the group. */
const signal = (contender: Contender, at: number, name: NodeJS.Signals): void => void process.kill(-contender.process(at).pid, name);

export const killed: Fault = {
  name: 'killed (SIGKILL)',
  apply: (contender, at) => signal(contender, at, 'SIGKILL'),
  async repair(contender, at) {
    await contender.process(at).exited;
    await contender.start(at);
  },
};

export const stopped: Fault = {
  name: 'stopped (SIGSTOP)',
  apply: (contender, at) => signal(contender, at, 'SIGSTOP'),
  repair(contender, at) {
    signal(contender, at, 'SIGCONT');
    return Promise.resolve();
  },
};

export const portDown: Fault = {
  name: 'port down',
  apply: (contender, at) => port(contender, at, 'down'),
  repair(contender, at) {
    port(contender, at, 'up');
    return Promise.resolve();
  },
};

export const unplugged: Fault = {
  name: 'port taken out of the bridge',
  apply: (contender, at) => port(contender, at, 'nomaster'),
  repair(contender, at) {
    port(contender, at, 'master', 'br0');
    return Promise.resolve();
  },
};

export const faults: readonly Fault[] = [killed, stopped, portDown, unplugged];
