import type { HttpAnswer } from '../system/http/http-listener.ts';

/** A part of the process that can say whether it is well. Undefined: it is; else what is the matter, in a few words. */
export interface HealthCheck {
  readonly name: string;
  /** Nothing but another process would help: /livez and /healthz. */
  readonly live?: () => string | undefined;
  /** It does its work, or would: /readyz. What is not alive is not ready either. */
  readonly ready?: () => string | undefined;
}

const headers = { 'Content-Type': 'text/plain; charset=utf-8', 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store' } as const;

/** The health of a process for whoever probes it, as programs of Kubernetes tell theirs: 200 or 503, and a line for each part. */
export class Health {
  readonly #checks = new Set<HealthCheck>();

  /** The result takes it away. */
  addCheck(check: HealthCheck): () => void {
    this.#checks.add(check);
    return () => void this.#checks.delete(check);
  }

  get ready(): boolean {
    return this.#look('readyz').every(({ problem }) => problem === undefined);
  }

  answer(path: string): HttpAnswer {
    const probe = path.slice(1);
    if (probe !== 'healthz' && probe !== 'livez' && probe !== 'readyz')
      return { status: 404, headers, body: 'not found: /livez, /readyz or /healthz\n' };
    const parts = this.#look(probe);
    const ok = parts.every(({ problem }) => problem === undefined);
    const lines = parts.map(({ name, problem }) => (problem === undefined ? `[+]${name} ok` : `[-]${name}: ${problem}`));
    return { status: ok ? 200 : 503, headers, body: `${lines.join('\n')}\n${probe} check ${ok ? 'passed' : 'failed'}\n` };
  }

  /** That the event loop turns is shown by the answer. */
  #look(probe: 'healthz' | 'livez' | 'readyz'): { readonly name: string; readonly problem: string | undefined }[] {
    const parts = [...this.#checks].flatMap(({ name, live, ready }) => {
      if (live === undefined && probe !== 'readyz') return [];
      const problem = live?.() ?? (probe === 'readyz' ? ready?.() : undefined);
      return [{ name, problem }];
    });
    return [{ name: 'ping', problem: undefined }, ...parts];
  }
}
