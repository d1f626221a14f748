import { useEffect, useRef, useState } from 'preact/hooks';
import type { ConsoleProblem } from '../../../src/console/contract.ts';

/** The state of a question to the server. The last data stay while a newer answer is awaited, or after one that failed. */
export interface Answer<T> {
  readonly data?: T;
  readonly problem?: ConsoleProblem;
}

export const unreachable: ConsoleProblem = {
  error: 'The server of the console does not answer.',
  fix: 'If you ended it, start it again: herald ui',
};

/**
 * Asks again whenever `version` changes, one question at a time: an answer that takes long still arrives when changes come faster.
 * Undefined `path`: asks nothing.
 */
export function useAnswer<T>(path: string | undefined, version: string): Answer<T> {
  const [state, setState] = useState<Answer<T> & { readonly path?: string | undefined }>({});
  const wanted = useRef(version);
  const isAsking = useRef<string>(undefined);
  wanted.current = version;
  useEffect(() => {
    if (path === undefined || isAsking.current === path) return;
    isAsking.current = path;
    const follow = async (): Promise<void> => {
      for (let asked: string | undefined; asked !== wanted.current && isAsking.current === path;) {
        asked = wanted.current;
        const answer = await ask<T>(path);
        if (isAsking.current === path) setState((before) => ({ path, ...dataOf(before, path), ...answer }));
      }
      if (isAsking.current === path) isAsking.current = undefined;
    };
    void follow();
  }, [path, version]);
  // Another path is asked now, or the view was left: the answer is no longer wanted.
  useEffect(
    () => () => {
      if (isAsking.current === path) isAsking.current = undefined;
    },
    [path],
  );
  return state.path === path ? state : {};
}

async function ask<T>(path: string): Promise<Answer<T>> {
  try {
    const answer = await fetch(path);
    const content: unknown = await answer.json();
    return answer.ok ? { data: content as T } : { problem: content as ConsoleProblem };
  } catch {
    return { problem: unreachable };
  }
}

function dataOf<T>(before: Answer<T> & { readonly path?: string | undefined }, path: string): { readonly data?: T } {
  return before.path === path && before.data !== undefined ? { data: before.data } : {};
}
