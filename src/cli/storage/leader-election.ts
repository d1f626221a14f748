import { ElectionThread, type ElectionThreadComponents } from '../../kube/election/election-thread.ts';
import type { Candidacy } from '../../kube/election/election.ts';
import type { CommandContext } from '../context/command-context.ts';

export const leaseName = 'herald-controller';

/** Waits until this process leads. Returns undefined when it is stopped before that. */
export async function acquireLease(
  { random, hostname, stopped }: CommandContext,
  components: ElectionThreadComponents,
  namespace: string,
  campaigning: (candidacy: Candidacy) => void,
): Promise<Candidacy | undefined> {
  const election = new ElectionThread(components, {
    lease: { namespace, name: leaseName },
    identity: `${hostname}_${digits(random)}${digits(random)}`,
  });
  campaigning(election);
  const resign = (): void => void election.resign();
  stopped.addEventListener('abort', resign, { once: true });
  if (stopped.aborted) return undefined;
  const elected = await election.campaign();
  // From here on the caller resigns after its own work has ended.
  stopped.removeEventListener('abort', resign);
  return elected ? election : undefined;
}

/** Random digits for the identity. A restarted container has the same host name, but is another process. */
function digits(random: CommandContext['random']): string {
  return Math.floor(random() * 2 ** 32)
    .toString(16)
    .padStart(8, '0');
}
