import type { ComponentChildren } from 'preact';
import { go } from '../state/url.ts';

interface Props {
  readonly to: string;
  readonly class?: string;
  readonly current?: boolean;
  readonly children: ComponentChildren;
}

/** A link within the page. With a modifier key the browser opens a tab, as with every link. */
export function Link({ to, current = false, children, ...others }: Props) {
  const follow = (event: MouseEvent): void => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || event.button !== 0) return;
    event.preventDefault();
    go(to);
  };
  return (
    <a href={to} onClick={follow} {...others} {...(current ? { 'aria-current': 'page' } : {})}>
      {children}
    </a>
  );
}
