import type { Bfd, Refusal, SessionOptions } from '../../bfd/index.ts';
import type { BfdSessions } from './bfd-monitor.ts';

/** The part of src/bfd that `SharedBfd` uses. */
type BfdThread = BfdSessions & Pick<Bfd, 'feed'>;

/**
 * One BFD thread for several users, because only one program of a host can have the port of BFD. Each user has sessions of its own, whose
 * names begin with the prefix of the user. The thread starts for the first user that asks for it, and ends with the last.
 */
export class SharedBfd {
  readonly #start: () => BfdThread;
  readonly #wanted = new Map<string, readonly SessionOptions[]>();
  readonly #users = new Set<string>();
  #thread: BfdThread | undefined;

  constructor(start: () => BfdThread) {
    this.#start = start;
  }

  /** `prefix`: "" for the user whose names have no slash, else a word and a slash. Throws if this host cannot run BFD. */
  open(prefix: string): BfdThread {
    const thread = (this.#thread ??= this.#start());
    this.#users.add(prefix);
    return {
      set: (sessions) => this.#set(thread, prefix, sessions),
      onChange: (listener) =>
        thread.onChange((name, transition) => {
          if (isOf(prefix, name)) listener(name, transition);
        }),
      status: async () => {
        const status = await thread.status();
        return { ...status, sessions: status.sessions.filter(({ name }) => isOf(prefix, name)) };
      },
      feed: (feed) => thread.feed(feed),
      stop: async () => {
        this.#users.delete(prefix);
        if (this.#users.size === 0) return thread.stop();
        await this.#set(thread, prefix, []);
      },
    };
  }

  async #set(thread: BfdThread, prefix: string, sessions: readonly SessionOptions[]): Promise<readonly Refusal[]> {
    this.#wanted.set(prefix, sessions);
    const refused = await thread.set([...this.#wanted.values()].flat());
    return refused.filter(({ name }) => isOf(prefix, name));
  }
}

const isOf = (prefix: string, name: string): boolean => (prefix === '' ? !name.includes('/') : name.startsWith(prefix));
