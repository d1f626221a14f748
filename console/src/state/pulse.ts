import { createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import { consolePaths, type Pulse } from '../../../src/console/contract.ts';

/** The page's knowledge of its server. `lost`: the server does not answer, and the picture is the last one. */
export interface Link {
  readonly state: 'connecting' | 'live' | 'lost';
  readonly pulse: Pulse;
  /** When the server was last heard, in milliseconds since the epoch. */
  readonly heard: number;
}

const nothing: Link = { state: 'connecting', pulse: { versions: {} }, heard: 0 };

export const LinkContext = createContext<Link>(nothing);

export const useLink = (): Link => useContext(LinkContext);

/** A sign of life comes every five seconds. */
const silentMilliseconds = 12_000;
const retryMilliseconds = 2000;

/** Follows the server for as long as the page is open. */
export function useServer(): Link {
  const [link, setLink] = useState<Link>(nothing);
  useEffect(() => {
    let source: EventSource | undefined;
    let retry: ReturnType<typeof setTimeout> | undefined;
    let heard = Date.now();
    const lose = (): void => setLink((before) => (before.state === 'lost' ? before : { ...before, state: 'lost' }));
    const open = (): void => {
      source = new EventSource(consolePaths.changes);
      source.addEventListener('message', ({ data }) => {
        heard = Date.now();
        setLink({ state: 'live', pulse: JSON.parse(String(data)) as Pulse, heard });
      });
      source.addEventListener('error', () => {
        lose();
        // A browser gives up after an answer that is no stream.
        if (source?.readyState !== EventSource.CLOSED) return;
        retry = setTimeout(open, retryMilliseconds);
      });
    };
    open();
    const watch = setInterval(() => {
      if (Date.now() - heard > silentMilliseconds) lose();
    }, retryMilliseconds);
    return () => {
      source?.close();
      clearTimeout(retry);
      clearInterval(watch);
    };
  }, []);
  return link;
}
