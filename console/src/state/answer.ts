import { useEffect, useState } from 'preact/hooks';
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

/** Asks again whenever `version` changes. Undefined `path`: asks nothing. */
export function useAnswer<T>(path: string | undefined, version: string): Answer<T> {
  const [state, setState] = useState<Answer<T> & { readonly path?: string | undefined }>({});
  useEffect(() => {
    if (path === undefined) return undefined;
    const given = new AbortController();
    const ask = async (): Promise<void> => {
      try {
        const answer = await fetch(path, { signal: given.signal });
        const content = (await answer.json()) as T;
        if (answer.ok) setState({ path, data: content });
        else setState((before) => ({ path, ...dataOf(before, path), problem: content as ConsoleProblem }));
      } catch {
        if (!given.signal.aborted) setState((before) => ({ path, ...dataOf(before, path), problem: unreachable }));
      }
    };
    void ask();
    return () => given.abort();
  }, [path, version]);
  return state.path === path ? state : {};
}

function dataOf<T>(before: Answer<T> & { readonly path?: string | undefined }, path: string): { readonly data?: T } {
  return before.path === path && before.data !== undefined ? { data: before.data } : {};
}
