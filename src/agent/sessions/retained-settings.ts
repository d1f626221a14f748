import { sessionWarning, type BfdIntent, type PeerSession, type SessionIntent } from '../../decisions/announcement/peers.ts';
import { defined } from '../../lang/defined.ts';
import { reason, type Reason } from '../../model/reasons.ts';

interface ResolvedSession {
  /** Absent: the peer gets no session. */
  readonly session?: SessionIntent;
  /** Why the peer gets no session, or what is wrong with the session that it gets. */
  readonly problem?: Reason;
}

/** Keeps the passwords and BFD settings of running sessions: a session continues with them after its Secret or BFDProfile is deleted. */
export class RetainedSettings {
  /** By name of the peer, as all of these. */
  readonly #passwords = new Map<string, string>();
  readonly #bfd = new Map<string, BfdIntent>();

  retain({ peer, password, bfd }: SessionIntent): void {
    if (bfd === undefined) this.#bfd.delete(peer);
    else this.#bfd.set(peer, bfd);
    if (password === undefined) this.#passwords.delete(peer);
    else this.#passwords.set(peer, password);
  }

  forgetPeer(peer: string): void {
    this.#passwords.delete(peer);
    this.#bfd.delete(peer);
  }

  /** Fills in what a decided session lacks because its Secret or BFDProfile does not exist. `isRunning`: the peer has a session already. */
  resolve(result: PeerSession, peer: string, isRunning: boolean): ResolvedSession {
    const found = this.#withPassword(result, peer);
    if (found.session === undefined || result.missingProfile === undefined) return found;
    const bfd = this.#bfd.get(peer);
    // BFD continues without its BFDProfile: to stop it would send AdminDown, for which FRR 8 closes BGP (RFC 5882 3.2 says otherwise).
    if (bfd !== undefined) return { ...found, session: { ...found.session, bfd } };
    // A session that is up may stay without BFD; BfdMonitor makes the next one wait. A new strict session does not start.
    if (!found.session.bfdStrict || isRunning) return found;
    return { problem: reason('StrictBFDProfileMissing', { peer, profile: result.missingProfile }) };
  }

  /** A session whose Secret is gone continues with its password. After a restart of the agent the password is lost. */
  #withPassword(result: PeerSession, peer: string): ResolvedSession {
    const { session, passwordGone } = result;
    const warning = sessionWarning(peer, result);
    if (passwordGone === undefined) return { session, ...defined({ problem: warning }) };
    const password = this.#passwords.get(session.peer);
    if (password === undefined) return { problem: reason('PeerPasswordMissing', passwordGone) };
    return { session: { ...session, password }, problem: reason('PeerPasswordGone', passwordGone) };
  }
}
