import { useEffect, useRef, useState } from 'preact/hooks';
import { checkType, consolePaths, type CheckView, type ConsoleProblem } from '../../../src/console/contract.ts';
import { healthWords, Mark } from '../parts/mark.tsx';
import { CopyButton } from '../parts/tree.tsx';
import { unreachable, type Answer } from '../state/answer.ts';
import { clockText } from '../state/time.ts';

interface Check extends Answer<CheckView> {
  readonly isRunning: boolean;
}

/** Checks a Service when it is asked to, once. Another Service begins without a result. */
export function useCheck(service: string): Check & { readonly start: () => void } {
  const [state, setState] = useState<Check>({ isRunning: false });
  const shown = useRef(service);
  useEffect(() => {
    shown.current = service;
    setState({ isRunning: false });
    return () => void (shown.current = '');
  }, [service]);
  const start = (): void => {
    setState((before) => ({ ...before, isRunning: true }));
    // oxlint-disable-next-line promise/always-return -- it sets the state, and nothing follows
    void check(service).then((answer) => {
      if (shown.current === service) setState({ ...answer, isRunning: false });
    });
  };
  return { ...state, start };
}

async function check(service: string): Promise<Answer<CheckView>> {
  try {
    const answer = await fetch(consolePaths.check, {
      method: 'POST',
      headers: { 'Content-Type': checkType },
      body: JSON.stringify({ service }),
    });
    const content: unknown = await answer.json();
    return answer.ok ? { data: content as CheckView } : { problem: content as ConsoleProblem };
  } catch {
    return { problem: unreachable };
  }
}

/** The result of a check, as `herald check service` prints it. */
export function CheckResult({ isRunning, data, problem }: Check) {
  if (!isRunning && data === undefined && problem === undefined) return null;
  return (
    <section class="card" aria-labelledby="check" aria-busy={isRunning}>
      <div class="card-head">
        <h2 id="check">Check</h2>
        <span class="muted" role="status">
          {isRunning ? 'Connections are being opened from every node. That takes up to half a minute.' : data && `of ${clockText(data.at)}`}
        </span>
        {data !== undefined && (
          <div class="tools">
            <CopyButton lines={data.lines} />
          </div>
        )}
      </div>
      {problem !== undefined && (
        <p class="banner bad" role="alert">
          <Mark health="bad" />
          <span>
            {problem.error} <span class="fix">{problem.fix}</span>
          </span>
        </p>
      )}
      {data !== undefined && <Matrix view={data} />}
    </section>
  );
}

function Matrix({ view: { verdict, health, rows, unchecked } }: { readonly view: CheckView }) {
  return (
    <>
      <p class={`banner ${health}`}>
        <Mark health={health} label={healthWords[health]} />
        <span>{verdict}</span>
      </p>
      {rows.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Results of the check">
          <table>
            <thead>
              <tr>
                {['From', 'To', 'Result', 'Time'].map((title) => (
                  <th key={title} scope="col">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={`${row.from} ${row.to} ${row.result}`}>
                  <td>{row.from}</td>
                  <td class="wide mono">{row.to}</td>
                  <td class={`line ${row.health}`}>
                    <Mark health={row.health} label={healthWords[row.health]} />
                    {row.result}
                  </td>
                  <td>{row.time}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {unchecked.length > 0 && <h3>Not checked</h3>}
      {unchecked.map(({ what, why, fix }) => (
        <p key={`${what} ${why}`} class="small">
          {what}: {why}
          {fix !== '' && <span class="fix"> fix: {fix}</span>}
        </p>
      ))}
    </>
  );
}
