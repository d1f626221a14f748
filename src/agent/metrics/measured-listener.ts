import type { AnswerHttp, SocketAddress, ListenHttp } from '../../system/http/http-listener.ts';
import type { Metrics } from '../../telemetry/metrics.ts';

interface MeasuredPlaces {
  /** Serve /healthz and /livez. */
  readonly healthz: readonly SocketAddress[];
  /** Serves no health check. */
  readonly proxyStatus: SocketAddress;
}

/** Counts the sockets of health checks and their responses. Places that are not named serve Services. */
export function measuredListener(listen: ListenHttp, metrics: Metrics, { healthz, proxyStatus }: MeasuredPlaces): ListenHttp {
  const nodeHealth = new Set(healthz.map(addressText));
  let open = 0;
  metrics.addCollector('listeners', ['herald_health_check_listeners'], (put) => put('herald_health_check_listeners', {}, open));
  return async (place, answer, bounds) => {
    if (addressText(place) === addressText(proxyStatus)) return listen(place, answer, bounds);
    const isOfNode = nodeHealth.has(addressText(place));
    const counted: AnswerHttp = async (path, query) => {
      const answered = await answer(path, query);
      const code = String(answered.status);
      if (!isOfNode) metrics.add('herald_health_check_requests_total', { code });
      else if (path === '/healthz') metrics.add('kubeproxy_proxy_healthz_total', { code });
      else if (path === '/livez') metrics.add('kubeproxy_proxy_livez_total', { code });
      return answered;
    };
    const listener = await listen(place, counted, bounds);
    open++;
    return {
      port: listener.port,
      close: async () => {
        open--;
        await listener.close();
      },
    };
  };
}

function addressText({ address, port }: SocketAddress): string {
  return `${address} ${port}`;
}
