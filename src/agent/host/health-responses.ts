import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { HttpAnswer } from '../../system/http/http-listener.ts';
import type { DataplaneHealth } from './dataplane-health.ts';

const headers = { 'Content-Type': 'application/json', 'X-Content-Type-Options': 'nosniff' } as const;

/** What a health-check node port answers on every path: kube-proxy 1.36, pkg/proxy/healthcheck, to the byte. */
export function healthCheckResponse(service: ServiceKey, localEndpoints: number, healthy: boolean): HttpAnswer {
  const [namespace = '', name = ''] = service.split('/', 2);
  const content = { service: { namespace, name }, localEndpoints, serviceProxyHealthy: healthy };
  return {
    status: localEndpoints > 0 && healthy ? 200 : 503,
    headers: { ...headers, 'X-Load-Balancing-Endpoint-Weight': String(localEndpoints) },
    body: JSON.stringify(content, undefined, '\t'),
  };
}

interface NodeCondition {
  readonly health: DataplaneHealth;
  readonly now: Date;
  /** Whether load balancers should send to the node: /healthz only. /livez tells whether the process works. */
  readonly eligible: boolean;
}

/** What kube-proxy answers at its --healthz-bind-address. */
export function nodeHealthResponse(path: string, { health, now, eligible }: NodeCondition): HttpAnswer {
  if (path !== '/healthz' && path !== '/livez') {
    return { status: 404, headers: { ...headers, 'Content-Type': 'text/plain; charset=utf-8' }, body: '404 page not found\n' };
  }
  const { healthy, lastUpdated } = health;
  const ok = healthy && (path === '/livez' || eligible);
  const family = { lastUpdated: lastUpdated?.toISOString(), healthy };
  const content = {
    // Where all is well, a time that is not now would look like a data plane that has stopped: it is one without changes.
    lastUpdated: ok ? now.toISOString() : (lastUpdated?.toISOString() ?? never),
    currentTime: now.toISOString(),
    ...(path === '/livez' ? {} : { nodeEligible: eligible }),
    healthy,
    // One data plane programs both families in one commit.
    ...(lastUpdated === undefined ? {} : { status: { IPv4: family, IPv6: family } }),
  };
  return { status: ok ? 200 : 503, headers, body: JSON.stringify(content) };
}

/** Go's zero time, which kube-proxy writes where there is none. */
const never = '0001-01-01T00:00:00Z';
