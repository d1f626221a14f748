import type { HttpAnswer } from '../system/http/http-listener.ts';
import type { Metrics } from './metrics.ts';

const headers = { 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store' } as const;

/** Answers a scrape. Any other request closes its connection. */
export async function metricsAnswer(metrics: Metrics, path: string): Promise<HttpAnswer> {
  if (path !== '/metrics') {
    const plain = { ...headers, 'Content-Type': 'text/plain; charset=utf-8', Connection: 'close' };
    return { status: 404, headers: plain, body: 'not found: /metrics\n' };
  }
  return { status: 200, headers: { ...headers, 'Content-Type': metrics.contentType }, body: await metrics.text() };
}
