import { useEffect, useState } from 'preact/hooks';

/** The place of the page: its view and the state of that view. Links and the back button work because nothing else holds it. */
export interface Place {
  readonly path: string;
  readonly query: URLSearchParams;
}

const listeners = new Set<() => void>();

function here(): Place {
  return { path: location.pathname, query: new URLSearchParams(location.search) };
}

export function usePlace(): Place {
  const [place, setPlace] = useState(here);
  useEffect(() => {
    const update = (): void => setPlace(here());
    listeners.add(update);
    addEventListener('popstate', update);
    return () => {
      listeners.delete(update);
      removeEventListener('popstate', update);
    };
  }, []);
  return place;
}

/** Shows another view. The browser's history gets an entry. */
export function go(to: string): void {
  history.pushState(null, '', to);
  scrollTo(0, 0);
  for (const listener of listeners) listener();
}

/** Changes the state of the present view without an entry in the browser's history. "" removes a value. */
export function setQuery(changes: Readonly<Record<string, string>>): void {
  history.replaceState(null, '', withQuery(location.pathname, new URLSearchParams(location.search), changes));
  for (const listener of listeners) listener();
}

export function servicePath(name: string): string {
  return `/service?${new URLSearchParams({ name }).toString()}`;
}

/** The page's URL with other values, as a link. "" removes a value. */
export function withQuery(path: string, query: URLSearchParams, changes: Readonly<Record<string, string>>): string {
  const next = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') next.delete(name);
    else next.set(name, value);
  }
  const text = next.toString();
  return text === '' ? path : `${path}?${text}`;
}

export function historyPath(kind: string, name: string): string {
  return `/history?${new URLSearchParams({ kind, name }).toString()}`;
}
