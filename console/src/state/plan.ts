import { useEffect, useRef, useState } from 'preact/hooks';
import { consolePaths, manifestType, type ConsoleProblem, type PlanView } from '../../../src/console/contract.ts';
import { limits } from '../../../src/console/limits.ts';
import { unreachable, type Answer } from './answer.ts';

/** While the manifests are being written, nothing is planned for this time after each change. */
const restMilliseconds = 300;

/** The state of a plan. `isOld`: another one is being computed, for other manifests or another picture. */
export interface PlanAnswer extends Answer<PlanView> {
  readonly isOld: boolean;
}

/** Plans manifests whenever they or `version` change. One plan is computed at a time. */
export function usePlan(manifests: string, version: string): PlanAnswer {
  const [state, setState] = useState<Answer<PlanView> & { readonly of?: string }>({});
  const wanted = useRef('');
  const isAsking = useRef(false);
  const isBlank = manifests.trim() === '';
  const now = JSON.stringify([version, manifests]);
  useEffect(() => {
    wanted.current = isBlank ? '' : now;
    if (isBlank) {
      setState({});
      return undefined;
    }
    const ask = async (): Promise<void> => {
      if (isAsking.current) return;
      isAsking.current = true;
      try {
        while (wanted.current !== '') {
          const of = wanted.current;
          const answer = await plan((JSON.parse(of) as readonly [string, string])[1]);
          if (wanted.current !== '') setState({ ...answer, of });
          if (wanted.current === of) return;
        }
      } finally {
        isAsking.current = false;
      }
    };
    const timer = setTimeout(() => void ask(), restMilliseconds);
    return () => clearTimeout(timer);
  }, [now]);
  // The view was left: nothing more is asked.
  useEffect(() => () => void (wanted.current = ''), []);
  return { ...state, isOld: !isBlank && state.of !== now };
}

const tooLong: ConsoleProblem = {
  error: `The manifests have more than ${limits.manifestBytes} octets.`,
  fix: 'Leave out objects that do not change, or run herald plan -f FILE.',
};

async function plan(manifests: string): Promise<Answer<PlanView>> {
  if (new Blob([manifests]).size > limits.manifestBytes) return { problem: tooLong };
  try {
    const answer = await fetch(consolePaths.plan, { method: 'POST', headers: { 'Content-Type': manifestType }, body: manifests });
    const content: unknown = await answer.json();
    return answer.ok ? { data: content as PlanView } : { problem: content as ConsoleProblem };
  } catch {
    return { problem: unreachable };
  }
}
