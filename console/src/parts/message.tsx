import type { ComponentChildren } from 'preact';
import type { Answer } from '../state/answer.ts';
import { useLink } from '../state/pulse.ts';
import { Mark } from './mark.tsx';
import { CopyButton } from './tree.tsx';

/** A view without content says why, and what to do. */
export function Message({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="message">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** Manifests to paste, for what does not exist yet. */
export function Example({ manifests }: { readonly manifests: string }) {
  return (
    <div class="example">
      <pre>{manifests}</pre>
      <CopyButton lines={manifests.trimEnd().split('\n')} />
    </div>
  );
}

/** Shows what came, or why nothing did. Old data stay visible below the reason why they are old. */
export function Answered<T>({ answer, children }: { readonly answer: Answer<T>; readonly children: (data: T) => ComponentChildren }) {
  const { data, problem } = answer;
  const { pulse } = useLink();
  if (data === undefined && problem === undefined) {
    return (
      <div class="message" role="status">
        <span class="spinner" aria-hidden="true" />
        <p>Reading objects and asking agents. A large cluster takes some seconds.</p>
      </div>
    );
  }
  if (data === undefined) {
    return (
      <Message title="There is nothing to show">
        <p>{problem?.error}</p>
        {problem?.fix !== '' && <p class="muted">{problem?.fix}</p>}
        {pulse.trouble !== undefined && pulse.trouble.message !== problem?.error && <p>{pulse.trouble.message}</p>}
      </Message>
    );
  }
  return (
    <>
      {problem !== undefined && (
        <p class="banner doubtful" role="alert">
          <Mark health="doubtful" />
          <span>
            {problem.error} {problem.fix}
          </span>
        </p>
      )}
      {children(data)}
    </>
  );
}
