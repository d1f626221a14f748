import type { BfdSessions } from '../../../src/agent/path-watch.ts';
import type { ManagerStatus, Refusal, SessionOptions, SessionState, Transition } from '../../../src/bfd/index.ts';

/** What the agent uses of BFD: remembers the sessions that are wanted, and says what the test says. */
export class FakeBfd implements BfdSessions {
  /** By name. */
  sessions = new Map<string, SessionOptions>();
  /** Times that sessions were asked for. */
  asked = 0;
  /** Why sessions cannot be, by name: at once; and what keeps one from working, when it is looked for. */
  readonly refuses = new Map<string, string>();
  readonly problems = new Map<string, string>();
  readonly #log: string[];
  readonly #listeners = new Set<(name: string, transition: Transition) => void>();

  constructor(log: string[] = []) {
    this.#log = log;
  }

  async set(sessions: readonly SessionOptions[]): Promise<readonly Refusal[]> {
    this.asked++;
    this.sessions = new Map(sessions.map((session) => [session.name, session]));
    return [...this.refuses].map(([name, message]) => ({ name, field: 'peer', message }));
  }

  onChange(listener: (name: string, transition: Transition) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async status(): Promise<ManagerStatus> {
    const sessions = [...this.problems].map(([name, problem]) => ({ name, problem }));
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
