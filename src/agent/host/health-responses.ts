import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { HttpAnswer } from '../../system/http/http-listener.ts';
import type { DataplaneHealth } from './dataplane-health.ts';

const headers = { 'Content-Type': 'application/json', 'X-Content-Type-Options': 'nosniff' } as const;
const plainText = 'text/plain; charset=utf-8';
const notFound: HttpAnswer = { status: 404, headers: { ...headers, 'Content-Type': plainText }, body: '404 page not found\n' };

/** Returns the response of a health-check node port on every path: that of kube-proxy 1.36 (pkg/proxy/healthcheck), byte for byte. */
export function healthCheckResponse(service: ServiceKey, localEndpoints: number, healthy: boolean): HttpAnswer {
  const [namespace = '', name = ''] = service.split('/', 2);
  const content = { service: { namespace, name }, localEndpoints, serviceProxyHealthy: healthy };
  return {
    status: localEndpoints > 0 && healthy ? 200 : 503,
    headers: { ...headers, 'X-Load-Balancing-Endpoint-Weight': String(localEndpoints) },
    body: JSON.stringify(content, undefined, '\t'),
  };
}

/** kube-proxy's answers at its metrics port that other programs read. `/herald` tells the agent from a kube-proxy. */
const proxyPaths: ReadonlyMap<string, string> = new Map([
  ['/proxyMode', 'nftables'],
  ['/healthz', 'ok'],
  ['/herald', 'ok'],
]);

/** Returns the answer at kube-proxy's --metrics-bind-address. */
export function proxyStatusResponse(path: string): HttpAnswer {
  const body = proxyPaths.get(path);
  return body === undefined ? notFound : { status: 200, headers: { ...headers, 'Content-Type': plainText }, body };
}

interface NodeCondition {
  readonly health: DataplaneHealth;
  readonly now: Date;
  /** True if load balancers should send traffic to the node. Only /healthz reports it; /livez reports whether the process works. */
  readonly eligible: boolean;
}

/** Returns the response of kube-proxy at its --healthz-bind-address. */
export function nodeHealthResponse(path: string, { health, now, eligible }: NodeCondition): HttpAnswer {
  if (path !== '/healthz' && path !== '/livez') return notFound;
  const { healthy, lastUpdated } = health;
  const ok = healthy && (path === '/livez' || eligible);
  const family = { lastUpdated: lastUpdated?.toISOString(), healthy };
  const content = {
    // When healthy, the response has the current time: an older one would look like a stopped data plane, while there were only no changes.
    lastUpdated: ok ? now.toISOString() : (lastUpdated?.toISOString() ?? never),
    currentTime: now.toISOString(),
    ...(path === '/livez' ? {} : { nodeEligible: eligible }),
    healthy,
    // One data plane programs both families in one commit.
    ...(lastUpdated === undefined ? {} : { status: { IPv4: family, IPv6: family } }),
  };
  return { status: ok ? 200 : 503, headers, body: JSON.stringify(content) };
}

/** Go's zero time, which kube-proxy writes for a missing time. */
const never = '0001-01-01T00:00:00Z';
