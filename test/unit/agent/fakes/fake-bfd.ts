import type { BfdSessions } from '../../../../src/agent/sessions/bfd-monitor.ts';
import type { ManagerStatus, Refusal, SessionOptions, SessionState, Transition } from '../../../../src/bfd/index.ts';

/** A double of BFD for the agent: records the requested sessions and reports what the test says. */
export class FakeBfd implements BfdSessions {
  /** The requested sessions, by name. */
  sessions = new Map<string, SessionOptions>();
  /** BFD answers a request when this resolves. */
  answers: Promise<void> = Promise.resolve();
  asked = 0;
  /** Why BFD refuses sessions, by name. */
  readonly refuses = new Map<string, string>();
  /** Why sessions do not work, by name. Only `status` tells it. */
  readonly problems = new Map<string, string>();
  readonly warnings = new Map<string, readonly string[]>();
  /** States of the peers, by name of the session. Default: Down. */
  readonly remoteStates = new Map<string, SessionState>();
  readonly #log: string[];
  readonly #listeners = new Set<(name: string, transition: Transition) => void>();

  constructor(log: string[] = []) {
    this.#log = log;
  }

  async set(sessions: readonly SessionOptions[]): Promise<readonly Refusal[]> {
    this.asked++;
    this.sessions = new Map(sessions.map((session) => [session.name, session]));
    await this.answers;
    return [...this.refuses].map(([name, message]) => ({ name, field: 'peer', message }));
  }

  onChange(listener: (name: string, transition: Transition) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async status(): Promise<ManagerStatus> {
    const sessions = [...this.sessions.keys()].map((name) => ({
      name,
      warnings: this.warnings.get(name) ?? [],
      remote: { state: this.remoteStates.get(name) ?? 'Down' },
      ...(this.problems.has(name) ? { problem: this.problems.get(name) } : {}),
    }));
    return { sessions } as unknown as ManagerStatus;
  }

  async stop(): Promise<void> {
    this.#log.push('AdminDown');
  }

  /** Moves a session to another state. */
  move(name: string, from: SessionState, to: SessionState, remoteState: SessionState, diagnostic = 0): void {
    const transition = { at: new Date(0), from, to, diagnostic, remoteState, remoteDiagnostic: 0 };
    for (const listener of this.#listeners) listener(name, transition);
  }
}
