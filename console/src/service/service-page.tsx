import { useState } from 'preact/hooks';
import { consolePaths, serviceOutcomes, type ServiceView } from '../../../src/console/contract.ts';
import { Link } from '../parts/link.tsx';
import { Mark, Outcome } from '../parts/mark.tsx';
import { Answered } from '../parts/message.tsx';
import { CopyButton, Tree } from '../parts/tree.tsx';
import { useAnswer } from '../state/answer.ts';
import { useLink } from '../state/pulse.ts';
import { ageText, clockText, useNow } from '../state/time.ts';
import { historyPath, setQuery } from '../state/url.ts';
import { CheckResult, useCheck } from './check.tsx';
import { Path } from './path.tsx';

export function ServicePage({ name, query }: { readonly name: string; readonly query: URLSearchParams }) {
  const { pulse } = useLink();
  const version = JSON.stringify(pulse.versions);
  const answer = useAnswer<ServiceView>(`${consolePaths.service}?${new URLSearchParams({ name }).toString()}`, version);
  return (
    <div class="page">
      <p class="crumbs">
        <Link to="/services">Services</Link>
      </p>
      <Answered answer={answer}>{(view) => <Service view={view} isWide={query.get('detail') === 'wide'} />}</Answered>
    </div>
  );
}

function Service({ view, isWide }: { readonly view: ServiceView; readonly isWide: boolean }) {
  const { service, type, verdict, outcome, path, lines, wideLines, stale, at, mayCheck } = view;
  const check = useCheck(service);
  const now = useNow();
  const shown = isWide ? wideLines : lines;
  const { health } = serviceOutcomes[outcome];
  // Another key makes the branches anew, folded or unfolded.
  const [fold, setFold] = useState({ isOpen: true, turn: 0 });
  return (
    <>
      <div class="title">
        <h1>{service}</h1>
        <Outcome outcome={outcome} />
        <span class="muted">{type}</span>
        <div class="tools">
          {mayCheck && (
            <button type="button" disabled={check.isRunning} onClick={check.start}>
              {check.isRunning ? 'Checking' : 'Check now'}
            </button>
          )}
          <Link to={historyPath('Service', service)} class="button">
            What happened to it
          </Link>
        </div>
      </div>
      {stale !== undefined && (
        <p class="banner doubtful" role="alert">
          <Mark health="doubtful" />
          <span>
            This is the last picture, of {clockText(at)}, {ageText(at, now)} ago, without Pods and Events: {stale}
          </span>
        </p>
      )}
      <p class={`banner verdict ${health}`} role="status">
        <Mark health={health} />
        <span>{verdict.line}</span>
      </p>
      <CheckResult {...check} />
      <Path path={path} />
      <section class="card" aria-labelledby="explanation">
        <div class="card-head">
          <h2 id="explanation">Explanation</h2>
          <div class="tools">
            <button type="button" class="quiet" aria-pressed={isWide} onClick={() => setQuery({ detail: isWide ? '' : 'wide' })}>
              Every node and pool
            </button>
            <button type="button" class="quiet" onClick={() => setFold(({ isOpen, turn }) => ({ isOpen: !isOpen, turn: turn + 1 }))}>
              {fold.isOpen ? 'Fold all' : 'Unfold all'}
            </button>
            <CopyButton lines={shown} />
          </div>
        </div>
        <Tree key={fold.turn} lines={shown} isOpen={fold.isOpen} />
      </section>
    </>
  );
}
