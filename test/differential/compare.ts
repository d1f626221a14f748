import { defined } from '../../src/lang/defined.ts';
import { differences } from './differences.ts';
import type { Flow } from './flows.ts';
import type { Environment } from './objects.ts';
import type { Outcome } from './observe.ts';

export interface Verdict {
  /** In words; undefined: as it must be. */
  readonly problem?: string;
  /** More packets may show what chance has hidden. */
  readonly open: boolean;
  /** Names of the differences without which it would be a problem. */
  readonly used: readonly string[];
}

/** Whether Herald did what kube-proxy did, but for the differences that are listed. */
export function compare(flow: Flow, environment: Environment, kubeProxy: Outcome, herald: Outcome): Verdict {
  const used = new Set<string>();
  const expected = new Set(
    [...kubeProxy.fates].map((fate) => {
      let wanted = fate;
      for (const difference of differences) {
        if (!difference.applies(flow, environment)) continue;
        const before = wanted;
        wanted = difference.expected(before, flow);
        if (wanted !== before) used.add(difference.name);
      }
      return wanted;
    }),
  );
  const verdict = (problem: string | undefined, open = false): Verdict => ({
    ...defined({ problem }),
    open,
    used: [...used],
  });
  const words = `Herald: ${list(herald.fates)}; expected, as kube-proxy has ${list(kubeProxy.fates)}: ${list(expected)}`;
  if (herald.moved && !kubeProxy.moved) {
    const again = flow.again === undefined ? '' : `, then ${flow.again.destination} port ${flow.again.port}`;
    return verdict(`Herald sent a client with affinity to another endpoint${again}; ${words}`);
  }
  if (flow.affinity && !flow.many) return verdict(oneOfEach(expected, herald.fates) ? undefined : words);
  if (expected.symmetricDifference(herald.fates).size === 0) return verdict(undefined);
  // Chance chooses among endpoints, and among nothing else.
  return verdict(words, [...expected, ...herald.fates].every(isDelivered));
}

/** One client with affinity sees one endpoint of each side, which may be different ones. */
function oneOfEach(expected: ReadonlySet<string>, seen: ReadonlySet<string>): boolean {
  const [a] = expected;
  const [b] = seen;
  if (a === undefined || b === undefined || expected.size !== 1 || seen.size !== 1) return false;
  const [endpointA] = a.split(' as ');
  const [endpointB] = b.split(' as ');
  return endpointA === endpointB ? a === b : isDelivered(a) && isDelivered(b);
}

function isDelivered(fate: string): boolean {
  return fate.includes(' as ');
}

function list(fates: ReadonlySet<string>): string {
  return [...fates].toSorted().join(', ') || 'nothing sent';
}
