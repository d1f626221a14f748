import { join } from 'node:path';
import type { BfdOptions, ManagerStatus, Refusal, SessionOptions, SessionStatus, Transition } from '../../src/bfd/index.ts';
import { startProgram, type Call } from './called-process.ts';

/** A transition as it comes through the pipe, with its time as text. */
export type NamedTransition = Omit<Transition, 'at'> & { readonly name: string; readonly at: string };

/** Our BFD in a process of its own, inside a namespace. */
export class BfdProcess {
  readonly call: Call;
  /** Kills it with SIGKILL, so that it sends nothing to its peers. */
  readonly kill: () => Promise<void>;

  constructor(namespace: string, options: BfdOptions = {}, wrapper: readonly string[] = []) {
    const { call, kill } = startProgram(namespace, join(import.meta.dirname, 'bfd-program.ts'), options, wrapper);
    this.call = call;
    this.kill = kill;
  }

  set(...sessions: SessionOptions[]): Promise<readonly Refusal[]> {
    return this.call('set', sessions) as Promise<readonly Refusal[]>;
  }

  status(): Promise<ManagerStatus> {
    return this.call('status') as Promise<ManagerStatus>;
  }

  /** Returns the session with this name, or the only one. */
  async session(name?: string): Promise<SessionStatus> {
    const { sessions } = await this.status();
    const found = name === undefined ? sessions[0] : sessions.find((session) => session.name === name);
    if (found === undefined) throw new Error(`there is no session ${name ?? ''}`);
    return found;
  }

  async changes(): Promise<readonly NamedTransition[]> {
    return (await this.call('changes')) as readonly NamedTransition[];
  }
}
