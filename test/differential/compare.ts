import { defined } from '../../src/lang/defined.ts';
import { differences } from './differences.ts';
import type { Flow } from './flows.ts';
import type { Environment } from './objects.ts';
import type { Outcome } from './observe.ts';

export interface Verdict {
  /** A description of the problem. Absent: the outcomes agree. */
  readonly problem?: string;
  /** True: more packets may reveal endpoints that chance has not selected yet. */
  readonly open: boolean;
  /** Names of the listed differences that explain the outcome. */
  readonly used: readonly string[];
}

/** Checks that Herald did the same as kube-proxy, except for the listed differences. */
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
  const words = `Herald: ${list(herald.fates)}; expected, from kube-proxy's ${list(kubeProxy.fates)}: ${list(expected)}`;
  if (herald.moved && !kubeProxy.moved) {
    const again = flow.again === undefined ? '' : `, then ${flow.again.destination} port ${flow.again.port}`;
    return verdict(`Herald sent a client with affinity to another endpoint${again}; ${words}`);
  }
  if (flow.affinity && !flow.many) return verdict(oneOfEach(expected, herald.fates) ? undefined : words);
  if (expected.symmetricDifference(herald.fates).size === 0) return verdict(undefined);
  // Chance decides only among endpoints, so only delivered packets may differ by chance.
  return verdict(words, [...expected, ...herald.fates].every(isDelivered));
}

/** A single client with affinity sees one endpoint on each side. The two may differ. */
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
