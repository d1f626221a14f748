import type { BfdSessions } from '../../../../src/agent/sessions/bfd-monitor.ts';
import type { ManagerStatus, Refusal, SessionOptions, SessionState, Transition } from '../../../../src/bfd/index.ts';

/** What the agent uses of BFD: remembers the sessions that are wanted, and says what the test says. */
export class FakeBfd implements BfdSessions {
  /** By name. */
  sessions = new Map<string, SessionOptions>();
  /** Requests are answered when this is over. */
  answers: Promise<void> = Promise.resolve();
  /** Times that sessions were asked for. */
  asked = 0;
  /** Why sessions cannot be, by name: at once; and what keeps one from working, when it is looked for. */
  readonly refuses = new Map<string, string>();
  readonly problems = new Map<string, string>();
  readonly warnings = new Map<string, readonly string[]>();
  /** What peers say, by name of the session. Default: Down. */
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

  /** A step of a session's state machine. */
  move(name: string, from: SessionState, to: SessionState, remoteState: SessionState, diagnostic = 0): void {
    const transition = { at: new Date(0), from, to, diagnostic, remoteState, remoteDiagnostic: 0 };
    for (const listener of this.#listeners) listener(name, transition);
  }
}
