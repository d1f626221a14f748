import { useEffect, useState } from 'preact/hooks';

const query = '(max-width: 760px)';

/** True on a screen as narrow as a phone's. */
export function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const update = (): void => setNarrow(list.matches);
    list.addEventListener('change', update);
    return () => list.removeEventListener('change', update);
  }, []);
  return isNarrow;
}
