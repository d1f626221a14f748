import type { HttpAnswer } from '../system/http/http-listener.ts';

/** The health of one part of the process. The functions return undefined if it is well, else the problem in a few words. */
export interface HealthCheck {
  readonly name: string;
  /** For /livez and /healthz. A problem here means that only a restart would help. */
  readonly live?: () => string | undefined;
  /** For /readyz: does the part do its work? A part that is not live is not ready either. */
  readonly ready?: () => string | undefined;
}

const headers = { 'Content-Type': 'text/plain; charset=utf-8', 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store' } as const;

/** Answers health probes in the form of Kubernetes programs: 200 or 503, and a line for each part. */
export class Health {
  readonly #checks = new Set<HealthCheck>();

  /** Returns a function that removes the check. */
  addCheck(check: HealthCheck): () => void {
    this.#checks.add(check);
    return () => void this.#checks.delete(check);
  }

  get ready(): boolean {
    return this.#check('readyz').every(({ problem }) => problem === undefined);
  }

  answer(path: string): HttpAnswer {
    const probe = path.slice(1);
    if (probe !== 'healthz' && probe !== 'livez' && probe !== 'readyz')
      return { status: 404, headers, body: 'not found: /livez, /readyz or /healthz\n' };
    const parts = this.#check(probe);
    const ok = parts.every(({ problem }) => problem === undefined);
    const lines = parts.map(({ name, problem }) => (problem === undefined ? `[+]${name} ok` : `[-]${name}: ${problem}`));
    return { status: ok ? 200 : 503, headers, body: `${lines.join('\n')}\n${probe} check ${ok ? 'passed' : 'failed'}\n` };
  }

  /** The part `ping` is always well: an answer shows that the event loop runs. */
  #check(probe: 'healthz' | 'livez' | 'readyz'): { readonly name: string; readonly problem: string | undefined }[] {
    const parts = [...this.#checks].flatMap(({ name, live, ready }) => {
      if (live === undefined && probe !== 'readyz') return [];
      const problem = live?.() ?? (probe === 'readyz' ? ready?.() : undefined);
      return [{ name, problem }];
    });
    return [{ name: 'ping', problem: undefined }, ...parts];
  }
}
